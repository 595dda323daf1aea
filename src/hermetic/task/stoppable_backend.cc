#include "hermetic/task/stoppable_backend.h"

#include <cerrno>
#include <utility>

namespace hermetic::task {

void Stopper::stop() {
  stopped_ = true;
  const std::lock_guard guard(mutex_);
  for (Run* run : running_) run->kill();
}

class StoppableBackend::StoppableRun final : public Run {
 public:
  StoppableRun(std::unique_ptr<Run> run, StoppableBackend& backend)
      : run_(std::move(run)), backend_(backend) {}
  StoppableRun(const StoppableRun&) = delete;
  StoppableRun& operator=(const StoppableRun&) = delete;
  ~StoppableRun() override { backend_.end(*run_); }

  Result<Outcome> wait() override {
    Result<Outcome> outcome = run_->wait();
    backend_.end(*run_);
    return outcome;
  }
  bool signal(int number) override { return run_->signal(number); }
  [[nodiscard]] Usage snapshot() override { return run_->snapshot(); }
  void kill() override { run_->kill(); }

 private:
  std::unique_ptr<Run> run_;
  StoppableBackend& backend_;
};

Result<std::unique_ptr<Run>> StoppableBackend::start(const Plan& plan, const RunOptions& options,
                                                     EventSink& events) {
  const auto stopped = [] { return system_error("cannot start anything", ECANCELED); };
  if (stopper_.is_stopped()) return stopped();
  std::unique_ptr<Run> run = TRY(backend_.start(plan, options, events));
  started_ = true;
  {
    const std::lock_guard guard(stopper_.mutex_);
    stopper_.running_.insert(run.get());
    if (stopper_.is_stopped()) run->kill();
  }
  return std::unique_ptr<Run>(std::make_unique<StoppableRun>(std::move(run), *this));
}

void StoppableBackend::end(Run& run) {
  const std::lock_guard guard(stopper_.mutex_);
  if (stopper_.running_.erase(&run) != 0 && stopper_.is_stopped()) cut_short_ = true;
}

}  // namespace hermetic::task
