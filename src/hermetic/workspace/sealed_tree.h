// Seals: whether a tree that many share is still what it was when it was made.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic {

// A digest of every name, kind, mode, size, link, inode and time of change in an open directory.
// The time at which an inode was changed is the kernel's to set: who writes a file and puts its
// modification time back is found out. No file is read.
[[nodiscard]] Result<std::string> seal_of(int directory);

}  // namespace hermetic
