// The shared object that tells which variables a program reads, carried inside the library.
#pragma once

#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

// The spy asks for a file of this name, followed by that of the variable. See src/spy/getenv.cc.
inline constexpr std::string_view kVariablePrefix = "/.hermetic-variable/";

// A file in memory, which others can open as /proc/PID/fd/N as long as it is open here.
[[nodiscard]] Result<UniqueFd> make_spy_image();

}  // namespace hermetic::linux_backend
