// The empty device, for commands that run without a sandbox.
#pragma once

#include "hermetic/base/unique_fd.h"

namespace hermetic {

// As open("/dev/null"), but where we may mount, through a read-only mount of its own: a command of
// root cannot change the mode, owner or times of the host's device through the descriptor, as
// programs do that look after the modes of what they write to.
[[nodiscard]] UniqueFd open_null_device(int flags);

}  // namespace hermetic
