#include "hermetic/backends/linux/limit_steps.h"

#include <algorithm>
#include <chrono>

namespace hermetic::linux_backend {

void add_limit_steps(LoweredScript& script, const Plan& plan, const Facts& facts) {
  const auto limit = [&](int resource, std::uint64_t value) {
    script.steps.push_back({.kind = Step::Kind::SetLimit,
                            .number = static_cast<std::uint64_t>(resource),
                            .limit = {value, value}});
  };
  script.steps.push_back({.kind = Step::Kind::LimitPersonality});
  // 1 and not 0: 0 still starts the host's crash handler if core_pattern is a pipe, core(5).
  limit(RLIMIT_CORE, 1);
  if (const auto most = most_processes(plan); most && !facts.group_keeps_processes)
    limit(RLIMIT_NPROC, *most);
  if (plan.limits.file_size_bytes) limit(RLIMIT_FSIZE, *plan.limits.file_size_bytes);
  // Of one process alone; all together are counted by the supervisor, which is a little earlier.
  if (plan.limits.cpu_time) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*plan.limits.cpu_time);
    limit(RLIMIT_CPU, static_cast<std::uint64_t>(seconds.count()) + 1);
  }
  // What the caller may do with priorities, the command may not: it would take a larger share.
  if (plan.limits.cpu_weight || plan.process.nice) {
    limit(RLIMIT_RTPRIO, 0);
    limit(RLIMIT_NICE, 0);
  }
  if (plan.process.nice)
    script.steps.push_back({.kind = Step::Kind::SetNice, .number = *plan.process.nice});
  if (!facts.cpus.empty())
    script.steps.push_back({.kind = Step::Kind::SetCpus,
                            .text = script.keep(facts.cpus),
                            .text_size = static_cast<std::uint32_t>(facts.cpus.size())});
}

std::optional<std::uint64_t> most_processes(const Plan& plan) {
  std::optional<std::uint64_t> most;
  if (plan.limits.processes) most = *plan.limits.processes + 1;
  if (const std::optional<std::uint64_t>& children = plan.process.max_children; children)
    most = std::min(most.value_or(*children + 2), *children + 2);
  return most;
}

}  // namespace hermetic::linux_backend
