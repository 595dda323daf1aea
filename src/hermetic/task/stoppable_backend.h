// StoppableBackend: starts runs that somebody else can end, all at once, whoever waits for them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include "hermetic/run/backend.h"

namespace hermetic::task {

// The runs of several threads. Outlives them.
class Stopper {
 public:
  // Ends those that are under way; none is started any more. From any thread.
  void stop();
  [[nodiscard]] bool is_stopped() const { return stopped_; }

 private:
  friend class StoppableBackend;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::set<Run*> running_;
};

// For one thread. Starts runs by another backend, as long as nobody has stopped them.
class StoppableBackend final : public Backend {
 public:
  StoppableBackend(Backend& backend, Stopper& stopper) : backend_(backend), stopper_(stopper) {}

  [[nodiscard]] std::string_view name() const override { return backend_.name(); }
  [[nodiscard]] Capabilities probe() const override { return backend_.probe(); }
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;

  // A command was started.
  [[nodiscard]] bool has_started() const { return started_; }
  // One may have ended before its time, because it was stopped.
  [[nodiscard]] bool was_cut_short() const { return cut_short_; }

 private:
  class StoppableRun;
  void end(Run& run);

  Backend& backend_;
  Stopper& stopper_;
  bool started_ = false;
  bool cut_short_ = false;
};

}  // namespace hermetic::task
