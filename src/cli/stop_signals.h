// StopSignals: while it lives, SIGINT, SIGTERM and SIGHUP call a function, once each, from a thread
// of their own.
#pragma once

#include <signal.h>

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

 private:
  sigset_t before_ = {};
  UniqueFd signals_;
  UniqueFd over_;
  std::thread thread_;
};

}  // namespace hermetic::cli
