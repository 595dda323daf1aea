// Computes until the process has used so much CPU time.
#pragma once

#include <ctime>

namespace misbehave {

inline void spin(double seconds) {
  for (double used = 0; used < seconds;) {
    timespec time = {};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    used = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
}

}  // namespace misbehave
