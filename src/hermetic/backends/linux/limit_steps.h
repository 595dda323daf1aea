// The limits of a plan that hold for each process: as steps of the script, but for open files,
// which init limits.
#pragma once

#include <cstdint>
#include <optional>

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

void add_limit_steps(LoweredScript& script, const Plan& plan, const Facts& facts);

// How many processes and threads there may be at once, init included. RLIMIT_NPROC counts them per
// user namespace, so that other processes of the same user do not matter; the kernel exempts root:
// limit_capabilities() says so.
[[nodiscard]] std::optional<std::uint64_t> most_processes(const Plan& plan);

}  // namespace hermetic::linux_backend
