// The steps that give a sandbox the network that its plan says.
#pragma once

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

void add_network_steps(LoweredScript& script, const Plan& plan, const Facts& facts);

}  // namespace hermetic::linux_backend
