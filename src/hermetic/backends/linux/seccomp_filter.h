// The system-call filter of a plan. Compiled by libseccomp when hermetic is built, not when it
// runs: see make_filters.cc in tools/, and docs/decisions/0005-filter-at-build-time.md.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "hermetic/plan/plan.h"

namespace hermetic::linux_backend {

// `program_key` takes the place of the placeholder where the plan denies other programs.
[[nodiscard]] std::vector<sock_filter> seccomp_filter(const Plan& plan, std::uint64_t program_key);

}  // namespace hermetic::linux_backend
