// init_message(): the first message to pid 1, which says how to start the command. Pure.
#pragma once

#include <string>

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

// InitConfig, the filters and the directory, as init_protocol.h has it.
[[nodiscard]] std::string init_message(const Plan& plan, const Facts& facts);

}  // namespace hermetic::linux_backend
