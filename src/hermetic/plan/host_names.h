// Host names: whether a plan can be carried out where every name is that of the host.
#pragma once

#include "hermetic/base/result.h"
#include "hermetic/plan/plan.h"

namespace hermetic {

// For backends without a sandbox. Fails if a tree is to stand elsewhere inside than on the host.
[[nodiscard]] Result<void> check_names_are_of_host(const Plan& plan);

}  // namespace hermetic
