// Files that are read or written as a whole.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"

namespace hermetic {

// All of a file, which must be a regular one, and not so large that it fills the memory.
[[nodiscard]] Result<std::string> read_whole_file(const std::string& path);

// Its first line, without the end; "" if it cannot be read.
[[nodiscard]] std::string first_line_of(const std::string& path);

// Writes a file under a temporary name and renames it, so that nobody ever reads half of it.
[[nodiscard]] Result<void> write_file_whole(const std::string& path, std::string_view text);

// Whether that can succeed, as far as it can be told. To be asked before the work whose result is
// to be written there.
[[nodiscard]] Result<void> check_place_for_file(const std::string& path);

}  // namespace hermetic
