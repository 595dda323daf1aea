#include "cli/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "hermetic/base/quiet_thread.h"

namespace hermetic::cli {

// Threads that are started from now on inherit the mask: the signals come here only. What is
// started in a sandbox gets a mask of its own.
StopSignals::StopSignals(std::function<void()> stop) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&wanted, number);
  ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
  signals_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC));
  over_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  const auto listen = [this, stop = std::move(stop)] {
    for (;;) {
      std::array<pollfd, 2> ready = {{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                      {.fd = over_.get(), .events = POLLIN, .revents = 0}}};
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
      if (ready[1].revents != 0) return;
      signalfd_siginfo info = {};
      if (ready[0].revents == 0 || ::read(signals_.get(), &info, sizeof info) <= 0) continue;
      caught_ = static_cast<int>(info.ssi_signo);
      stop();
    }
  };
  if (signals_.is_open() && over_.is_open()) thread_ = start_quiet_thread(listen);
  // Who cannot be stopped in good order is stopped all the same: the next who comes clears up.
  if (!thread_.joinable()) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

StopSignals::~StopSignals() {
  if (thread_.joinable()) {
    (void)::eventfd_write(over_.get(), 1);
    thread_.join();
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace hermetic::cli
