// The disks of a run: those that hold what it reads and writes, with the rates that its plan sets
// for them.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/monitor/control_group.h"
#include "hermetic/outputs/staging.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/backend.h"
#include "hermetic/spec/mount_table.h"

namespace hermetic::linux_backend {

// Fails if something declared lies where the kernel keeps no rate, naming it, unless the clause is
// given up.
[[nodiscard]] Result<std::vector<DiskRate>> disk_rates(const Plan& plan, const Staging& staging,
                                                       const RunOptions& options,
                                                       const MountTable& mounts,
                                                       const std::string& sys = "/sys");

}  // namespace hermetic::linux_backend
