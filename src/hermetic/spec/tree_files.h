// The files of one declared tree, with what the kernel says of each.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

using VisitFile = std::function<Result<void>(const std::string& path, const struct stat& status)>;

// Calls `visit` for everything in the tree, less its exceptions, that is not a directory. Follows
// no link. A directory that the caller cannot read is left out, and one that comes back through a
// bind mount is visited once.
[[nodiscard]] Result<void> visit_files(const Tree& tree, const VisitFile& visit);

}  // namespace hermetic
