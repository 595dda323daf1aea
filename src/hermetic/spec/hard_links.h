// Finds files that an output changed in place shares with an input by a hard link.
#pragma once

#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Walks the in-place outputs and, only if some file there has links elsewhere, the inputs on the
// same file system. Fails with InvalidSpec naming both paths.
[[nodiscard]] Result<void> check_hard_links(const std::vector<Tree>& trees);

}  // namespace hermetic
