// PatientLock: the lock of something that may be abandoned.
//
// Who is killed in the middle of starting a sandbox leaves a process that holds a copy of its
// descriptors, and with them its locks, for some milliseconds more.
#pragma once

#include <sys/file.h>

#include <chrono>
#include <thread>

namespace hermetic {

using Deadline = std::chrono::steady_clock::time_point;

// True if nobody else has it, now or before the deadline. One that has passed: now.
[[nodiscard]] inline bool lock_before(int file, Deadline deadline) {
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace hermetic
