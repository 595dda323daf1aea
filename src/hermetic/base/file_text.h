// Files that are read or written as a whole.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

// All of a file, which must be a regular one, and not so large that it fills the memory.
[[nodiscard]] Result<std::string> read_whole_file(const std::string& path);

// Its first line, without the end; "" if it cannot be read.
[[nodiscard]] std::string first_line_of(const std::string& path);

// Writes a file in an open directory: it comes under its name when it is complete, in place of a
// file that was there, whose permissions it takes over. No link is followed. `path` is for the
// error.
[[nodiscard]] Result<void> write_file_in(int directory, const std::string& name,
                                         std::string_view text, const std::string& path);

// The same for a file that is written bit by bit: it is there at once, empty.
[[nodiscard]] Result<UniqueFd> make_file_in(int directory, const std::string& name, mode_t mode,
                                            const std::string& path);

// write_file_in() for folders that hermetic has made itself. What a user names is an OwnPlace.
[[nodiscard]] Result<void> write_file_whole(const std::string& path, std::string_view text);

// write(2); a reader that has gone is an error like any other, and no signal that ends the caller.
[[nodiscard]] ssize_t write_without_signal(int descriptor, std::string_view text);

}  // namespace hermetic
