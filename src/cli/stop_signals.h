// StopSignals: while it lives, SIGINT, SIGTERM and SIGHUP call a function, once each, from a thread
// of their own.
#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

#include "hermetic/base/unique_fd.h"

namespace hermetic::cli {

class StopSignals {
 public:
  explicit StopSignals(std::function<void()> stop);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // The last one that came; 0: none.
  [[nodiscard]] int caught() const { return caught_; }

 private:
  sigset_t before_ = {};
  UniqueFd signals_;
  UniqueFd over_;
  std::atomic<int> caught_ = 0;
  std::thread thread_;
};

}  // namespace hermetic::cli
