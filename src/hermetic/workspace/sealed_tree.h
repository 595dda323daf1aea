// Seals: whether a tree that many share is still what it was when it was made.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"

namespace hermetic {

// The path, kind, mode, size, inode and time of change of an open directory and of all that is in
// it. The time at which an inode was changed is the kernel's to set: who writes a file and puts its
// modification time back is found out. No file is read.
[[nodiscard]] Result<std::string> seal_of(int directory);

// Is it what it was when it got this seal? Nothing is listed: a directory that has got or lost a
// name has changed itself. Any text but a whole seal is the seal of nothing.
[[nodiscard]] bool is_sealed_by(std::string_view seal, int directory);

}  // namespace hermetic
