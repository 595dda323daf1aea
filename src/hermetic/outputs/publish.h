// Publication: puts what a run produced where the spec says, all of it or nothing.
#pragma once

#include "hermetic/base/result.h"
#include "hermetic/outputs/staging.h"
#include "hermetic/places/own_place.h"

namespace hermetic {

// By one rename or exchange where the file system allows it, else entry by entry; across file
// systems by a copy under a temporary name. If one output fails, those before it are taken back, so
// that every destination holds what it held before; if we are killed, a later run does that by the
// journal, or finishes what was done. Abandons the staged trees if something cannot be put back.
[[nodiscard]] Result<void> publish(Staging& staging);

// Moves or copies the outputs of a failed run into a folder, as "0", "1"… in the order of the
// plan.
[[nodiscard]] Result<void> keep_outputs(Staging& staging, const OwnPlace& place);

}  // namespace hermetic
