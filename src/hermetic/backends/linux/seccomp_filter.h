// The system-call filter of a plan. Compiled by libseccomp when hermetic is built, not when it
// runs: see make_filters.cc in tools/, and docs/decisions/0005-filter-at-build-time.md.
#pragma once

#include <linux/filter.h>

#include <span>

#include "hermetic/plan/plan.h"

namespace hermetic::linux_backend {

[[nodiscard]] std::span<const sock_filter> seccomp_filter(const Plan& plan);

}  // namespace hermetic::linux_backend
