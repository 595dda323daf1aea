// The directory that relative names start from.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic {

[[nodiscard]] Result<std::string> current_directory();
// Normal; a relative one starts from the current directory.
[[nodiscard]] Result<std::string> absolute_path(const std::string& path);

}  // namespace hermetic
