// ForwardSignals: while it lives, the signals that ask hermetic to end go to the command instead.
#pragma once

#include <array>
#include <csignal>

#include "hermetic/run/backend.h"

namespace hermetic::cli {

// One at a time: signal handlers have no arguments.
class ForwardSignals {
 public:
  explicit ForwardSignals(Run& run);
  ForwardSignals(const ForwardSignals&) = delete;
  ForwardSignals& operator=(const ForwardSignals&) = delete;
  ~ForwardSignals();

  static constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

 private:
  std::array<struct sigaction, kForwarded.size()> before_ = {};
};

}  // namespace hermetic::cli
