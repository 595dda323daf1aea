// Which limits this host keeps, and by what means.
#pragma once

#include <map>

#include "hermetic/monitor/control_group.h"
#include "hermetic/plan/capabilities.h"

namespace hermetic::linux_backend {

[[nodiscard]] std::map<Clause, Capability> limit_capabilities(const ControlGroups& groups,
                                                              bool is_root);

}  // namespace hermetic::linux_backend
