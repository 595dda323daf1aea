// How a misbehaving program tells what became of its one act: exit code 0 and "succeeded", or exit
// code 1 and "denied" with the errno.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace misbehave {

[[noreturn]] inline void tell(bool succeeded, int error) {
  if (succeeded)
    std::puts("succeeded");
  else
    std::printf("denied %d %s\n", error, ::strerrorname_np(error));
  std::fflush(stdout);
  std::_Exit(succeeded ? 0 : 1);
}

[[noreturn]] inline void tell(bool succeeded) { tell(succeeded, errno); }

[[noreturn]] inline void usage(const char* text) {
  std::fprintf(stderr, "usage: %s\n", text);
  std::_Exit(2);
}

inline long number(const char* text) { return static_cast<long>(std::strtoul(text, nullptr, 0)); }

}  // namespace misbehave
