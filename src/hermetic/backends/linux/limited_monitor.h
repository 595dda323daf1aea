// The monitor of one run: which limits the kernel keeps in a control group, and which it looks
// after itself.
#pragma once

#include <memory>

#include "hermetic/base/result.h"
#include "hermetic/monitor/monitor.h"
#include "hermetic/outputs/staging.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/backend.h"

namespace hermetic::linux_backend {

[[nodiscard]] Result<std::unique_ptr<Monitor>> make_monitor(const Plan& plan,
                                                            const RunOptions& options,
                                                            const ControlGroups& groups,
                                                            const Staging& staging);

}  // namespace hermetic::linux_backend
