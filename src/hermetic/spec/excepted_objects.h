// Excepted objects: what a tree takes away by an exception is not shown under another name.
#pragma once

#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Fails with InvalidSpec, naming both paths, if the command would see an object under one name that
// an exception takes away under another: through a tree around it, a layer, a bind mount or a hard
// link. What is declared at or in the exception is declared on purpose, and not meant.
//
// Looks for hard links only where an excepted file has one more than the exceptions explain. What
// does not exist yet has no other name.
[[nodiscard]] Result<void> check_exceptions_hidden(const std::vector<Tree>& trees);

}  // namespace hermetic
