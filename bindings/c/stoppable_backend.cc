#include "bindings/c/stoppable_backend.h"

#include <cerrno>
#include <utility>

namespace hermetic::c {

class StoppableBackend::Stoppable final : public Run {
 public:
  Stoppable(StoppableBackend& backend, std::unique_ptr<Run> run)
      : backend_(backend), run_(std::move(run)) {}
  Stoppable(const Stoppable&) = delete;
  Stoppable& operator=(const Stoppable&) = delete;
  ~Stoppable() override {
    const std::lock_guard lock(backend_.mutex_);
    backend_.running_.erase(run_.get());
  }

  Result<Outcome> wait() override {
    Result<Outcome> outcome = run_->wait();
    const std::lock_guard lock(backend_.mutex_);
    if (backend_.stopped_) return system_error("stopped", EINTR);
    return outcome;
  }
  bool signal(int number) override { return run_->signal(number); }
  [[nodiscard]] Usage snapshot() override { return run_->snapshot(); }
  void kill() override { run_->kill(); }

 private:
  StoppableBackend& backend_;
  std::unique_ptr<Run> run_;
};

Result<std::unique_ptr<Run>> StoppableBackend::start(const Plan& plan, const RunOptions& options,
                                                     EventSink& events) {
  std::unique_ptr<Run> run = TRY(backend_->start(plan, options, events));
  const std::lock_guard lock(mutex_);
  if (stopped_) return system_error("stopped", EINTR);
  running_.insert(run.get());
  return std::unique_ptr<Run>(new Stoppable(*this, std::move(run)));
}

void StoppableBackend::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (Run* run : running_) run->kill();
}

bool StoppableBackend::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace hermetic::c
