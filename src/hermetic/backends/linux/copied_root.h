// A root that the command may change: a temp that all the rest stands in.
#pragma once

#include <string>

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

// The temp at "/"; null if there is none.
[[nodiscard]] const ViewEntry* copied_root_of(const Plan& plan);

// Does the place of this entry lie in that temp, and in nothing else?
[[nodiscard]] bool is_made_in_copied_root(const Plan& plan, const ViewEntry& entry);

// Puts it together at `base` and goes there. The places that are needed in it are made where its
// changes go, before it is mounted: what it starts as may belong to another user, and may have a
// link where a place is needed. `memory` is as in add_layer_steps().
void add_copied_root(LoweredScript& script, const Plan& plan, const Facts& facts, const char* base,
                     const std::string& memory);

}  // namespace hermetic::linux_backend
