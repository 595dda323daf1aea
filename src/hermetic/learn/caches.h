// The caches of tools that are known by name: cargo, npm, Go, Maven, Gradle, pip, ccache…
#pragma once

#include <set>
#include <string>

#include "hermetic/base/path.h"
#include "hermetic/learn/observation.h"

namespace hermetic {

// Those that were there before and in which something was needed. Parts of a tool's folder in which
// credentials are kept are not among them.
[[nodiscard]] std::set<std::string, PathOrder> used_caches(const Observation& observation);

}  // namespace hermetic
