#include "hermetic/backends/linux/limited_monitor.h"

#include <unistd.h>

#include <utility>

#include "hermetic/backends/linux/disk_rates.h"
#include "hermetic/backends/linux/limit_steps.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::uint64_t kInit = 1;

// What the kernel is asked to limit and count, as far as it can be asked here. What it cannot do,
// the monitor does: the plan says so.
Result<GroupLimits> group_limits(const Plan& plan, const RunOptions& options,
                                 const ControlGroups& groups, const Staging& staging) {
  GroupLimits limits;
  if (groups.has(Controller::Memory)) limits.memory_bytes = plan.limits.memory_bytes;
  if (groups.has(Controller::Processes)) limits.processes = most_processes(plan);
  if (groups.has(Controller::CpuShare)) limits.cpu_weight = plan.limits.cpu_weight;
  if (groups.has(Controller::CpuShare)) limits.cpus = plan.process.cpus;
  limits.count_disk = groups.has(Controller::Disk) && plan.limits.disk_write_bytes.has_value();
  if (groups.has(Controller::Disk) && (plan.limits.disk_read_rate || plan.limits.disk_write_rate)) {
    const MountTable mounts = TRY(MountTable::of_this_process());
    limits.disk_rates = TRY(disk_rates(plan, staging, options, mounts));
  }
  limits.members_may_mount = plan.allow_nested_namespaces;
  limits.members_may_stay = !plan.process.kill_on_parent_exit;
  // Who may mount would see the files of the caller's group, if it had none of its own.
  limits.count_cpu_time = groups.has(Controller::CpuAccounting) &&
                          (plan.limits.cpu_time || plan.allow_nested_namespaces);
  return limits;
}

}  // namespace

Result<std::unique_ptr<Monitor>> make_monitor(const Plan& plan, const RunOptions& options,
                                              const ControlGroups& groups, const Staging& staging) {
  Monitor::Options watched{.limits = plan.limits,
                           .every = options.sample_every,
                           .by_process = options.watch_processes,
                           .uncounted = kInit};
  if (plan.limits.network_bytes && plan.network.mode == NetworkPolicy::Mode::Loopback)
    watched.loopback_of = kInit;
  // A start that `max_children` refuses is refused, and that is all.
  const auto& children = plan.process.max_children;
  if (children && plan.limits.processes && *children + 1 <= *plan.limits.processes)
    watched.limits.processes.reset();
  // Root's processes are refused by nobody then.
  if (!groups.has(Controller::Processes) && ::geteuid() == 0) watched.max_children = children;
  auto monitor = std::make_unique<Monitor>(std::move(watched));
  const GroupLimits limits = TRY(group_limits(plan, options, groups, staging));
  if (limits.any()) monitor->watch(TRY(groups.make(limits)));
  return monitor;
}

}  // namespace hermetic::linux_backend
