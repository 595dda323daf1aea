// Looks through an output before it is published: what is in it, and is there anything that must
// not leave?
#pragma once

#include "hermetic/base/result.h"
#include "hermetic/outputs/staging.h"
#include "hermetic/run/outcome.h"

namespace hermetic {

enum class Digests { Make, Skip };

// Fails, naming the entry, if the output holds a device, fifo or socket, a set-user-id or
// set-group-id bit, capabilities, or directories nested too deep to handle.
[[nodiscard]] Result<PublishedOutput> inspect_output(const StagedOutput& staged, Digests digests);

// For the outputs of a failed run, which are kept as they are but for this: set-id bits and
// capabilities are cleared, and devices, fifos and sockets removed.
[[nodiscard]] Result<void> disarm(const StagedOutput& staged);

}  // namespace hermetic
