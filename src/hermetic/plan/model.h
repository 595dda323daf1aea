// The model backend: gives every clause and runs nothing. What a spec means, apart from any host.
#pragma once

#include "hermetic/plan/capabilities.h"

namespace hermetic {

[[nodiscard]] Capabilities model_capabilities();

}  // namespace hermetic
