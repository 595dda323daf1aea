// The steps that give a sandbox clocks that stand at zero when it starts.
#pragma once

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

void add_clock_steps(LoweredScript& script, const Facts& facts);

}  // namespace hermetic::linux_backend
