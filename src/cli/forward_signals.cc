#include "cli/forward_signals.h"

#include <atomic>
#include <cerrno>

namespace hermetic::cli {
namespace {

std::atomic<Run*> target = nullptr;

void forward(int number) {
  const int saved = errno;
  Run* run = target.load();
  if (run == nullptr || !run->signal(number)) {
    // The command is gone: the signal is meant for what hermetic still does, such as hashing
    // outputs.
    ::signal(number, SIG_DFL);
    ::raise(number);
  }
  errno = saved;
}

}  // namespace

ForwardSignals::ForwardSignals(Run& run) {
  target = &run;
  struct sigaction action = {};
  action.sa_handler = forward;
  for (std::size_t i = 0; i < kForwarded.size(); ++i)
    ::sigaction(kForwarded[i], &action, &before_[i]);
}

ForwardSignals::~ForwardSignals() {
  for (std::size_t i = 0; i < kForwarded.size(); ++i)
    ::sigaction(kForwarded[i], &before_[i], nullptr);
  target = nullptr;
}

}  // namespace hermetic::cli
