// Which commit a workspace is at, without running git.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic::gate {

// The commit of HEAD. Fails if the folder is no checkout, or has no commit yet.
[[nodiscard]] Result<std::string> revision_of(const std::string& workspace);

// It names a folder: letters, digits, '.', '_' and '-', not starting with '.'.
[[nodiscard]] Result<void> check_revision(const std::string& revision);

}  // namespace hermetic::gate
