#include "cli/forward_signals.h"

#include <atomic>
#include <cerrno>

namespace hermetic::cli {
namespace {

std::atomic<Run*> target = nullptr;

void forward(int number) {
  const int saved = errno;
  if (Run* run = target.load()) run->signal(number);
  errno = saved;
}

}  // namespace

ForwardSignals::ForwardSignals(Run& run) {
  target = &run;
  struct sigaction action = {};
  action.sa_handler = forward;
  ::sigfillset(&action.sa_mask);
  for (std::size_t i = 0; i < kForwarded.size(); ++i)
    ::sigaction(kForwarded[i], &action, &before_[i]);
}

ForwardSignals::~ForwardSignals() {
  for (std::size_t i = 0; i < kForwarded.size(); ++i)
    ::sigaction(kForwarded[i], &before_[i], nullptr);
  target = nullptr;
}

}  // namespace hermetic::cli
