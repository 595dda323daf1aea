// Threads that take no signals: those are for the threads of whoever embeds us.
#pragma once

#include <csignal>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace hermetic {

// Not joinable if the user may have no more processes or memory: then nothing was started.
template <class Work>
[[nodiscard]] std::thread start_quiet_thread(Work work) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::system_error&) {  // the caller sees that there is none
  } catch (const std::bad_alloc&) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace hermetic
