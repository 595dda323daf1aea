// Files that are read as a whole.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic {

// All of a file, which must be a regular one, and not so large that it fills the memory.
[[nodiscard]] Result<std::string> read_whole_file(const std::string& path);

// Its first line, without the end; "" if it cannot be read.
[[nodiscard]] std::string first_line_of(const std::string& path);

}  // namespace hermetic
