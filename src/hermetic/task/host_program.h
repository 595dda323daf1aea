// Programs of the host that an environment is made with.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic::task {

[[nodiscard]] Result<std::string> real_path_of(const std::string& path);

// Changes when the program is replaced, without reading all of it each time.
[[nodiscard]] Result<std::string> identity_of_program(const std::string& path);

// An interpreter of Python, its library and its shared objects, as inputs; none if it is one of the
// system's tools. Nothing else that lies around them: that may be somebody's home.
[[nodiscard]] std::vector<std::string> files_of_interpreter(const std::string& path);

}  // namespace hermetic::task
