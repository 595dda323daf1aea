// The steps that carry out the Landlock rules of a plan.
#pragma once

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

void add_landlock_steps(LoweredScript& script, const Plan& plan, const Facts& facts);

}  // namespace hermetic::linux_backend
