// Programs of the host that an environment is made with.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic::task {

[[nodiscard]] Result<std::string> real_path_of(const std::string& path);

// Changes when the program is replaced, without reading all of it each time.
[[nodiscard]] Result<std::string> identity_of_program(const std::string& path);

}  // namespace hermetic::task
