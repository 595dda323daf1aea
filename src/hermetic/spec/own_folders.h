// Keeps what a command writes apart from what hermetic keeps for itself.
#pragma once

#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Fails with InvalidSpec if the command could write, through an output or the changes of a temp, to
// the folders with journals and prepared outputs, or to the cache: a later run, or `hermetic gc`,
// would take for its own what a command has put there. Judged by objects, like outputs and inputs.
[[nodiscard]] Result<void> check_own_folders(const std::vector<Tree>& trees);

}  // namespace hermetic
