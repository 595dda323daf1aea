// CHECK: a condition that only a bug in hermetic can break. It stays on in release builds.
#pragma once

namespace hermetic {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace hermetic

#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::hermetic::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
