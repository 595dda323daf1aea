// StoppableBackend: runs that another thread can put an end to, all of them and those to come.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "hermetic/run/backend.h"

namespace hermetic::c {

class StoppableBackend final : public Backend {
 public:
  explicit StoppableBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  [[nodiscard]] std::string_view name() const override { return backend_->name(); }
  [[nodiscard]] Capabilities probe() const override { return backend_->probe(); }
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;

  void stop();  // from any thread
  [[nodiscard]] bool is_stopped() const;

 private:
  class Stoppable;

  std::unique_ptr<Backend> backend_;
  mutable std::mutex mutex_;
  std::set<Run*> running_;  // guarded by `mutex_`
  bool stopped_ = false;    // guarded by `mutex_`
};

}  // namespace hermetic::c
