// What a command asked for under a spec and was not given, although it is there.
#pragma once

#include <vector>

#include "hermetic/run/outcome.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// A name that is nowhere is no loss to a reader. A directory that is only passed through or looked
// at is none either: nothing in it was asked for, or that is lacking itself.
[[nodiscard]] std::vector<AskedPath> lacking(const Spec& spec, const std::vector<AskedPath>& asked);

}  // namespace hermetic
