#include "hermetic/backends/linux/limit_capabilities.h"

#include <fmt/format.h>

#include <string>

namespace hermetic::linux_backend {
namespace {

constexpr const char* kLoop = "the supervisor's loop, every 40 ms";

std::string remedy_for(bool is_root) {
  return is_root ? "mount the control groups writable, or run on the host itself"
                 : "start hermetic in a scope of your own: systemd-run --user --scope hermetic …";
}

}  // namespace

std::map<Clause, Capability> limit_capabilities(const ControlGroups& groups, bool is_root) {
  std::map<Clause, Capability> clauses;
  const auto enforced = [&](Clause clause, std::string mechanism) {
    clauses[clause] = {.strength = Strength::Enforced, .mechanism = std::move(mechanism)};
  };
  const auto weaker = [&](Clause clause, Strength strength, std::string mechanism,
                          std::string reason) {
    clauses[clause] = {.strength = strength,
                       .mechanism = std::move(mechanism),
                       .reason = std::move(reason),
                       .remedy = remedy_for(is_root)};
  };
  const std::string group = fmt::format("cgroup v{}", groups.version());

  enforced(Clause::WallTimeLimit, "the supervisor's timer");
  enforced(Clause::FileSizeLimit, "RLIMIT_FSIZE");
  enforced(Clause::OpenFilesLimit, "RLIMIT_NOFILE");
  enforced(Clause::CpuCount,
           groups.has(Controller::CpuShare)
               ? "sched_setaffinity, refused inside by seccomp, and " + group + " cpu"
               : "sched_setaffinity, refused inside by seccomp");
  if (groups.has(Controller::Memory))
    enforced(Clause::MemoryLimit, group + " memory, without swap");
  else
    weaker(Clause::MemoryLimit, Strength::Observed, kLoop,
           "memory is counted by looking, and can be taken faster: " + groups.why_not());
  if (groups.has(Controller::CpuAccounting))
    enforced(Clause::CpuTimeLimit, group + " counts, the supervisor's loop ends it within 50 ms");
  else
    weaker(Clause::CpuTimeLimit, Strength::Observed, std::string(kLoop) + ", and RLIMIT_CPU",
           "processes that end between two looks and that nobody waits for are not counted: " +
               groups.why_not());
  if (groups.has(Controller::Processes)) {
    enforced(Clause::ProcessesLimit, group + " pids");
    enforced(Clause::MaxChildren, group + " pids");
  } else if (!is_root) {
    enforced(Clause::ProcessesLimit, "RLIMIT_NPROC in the user namespace");
    enforced(Clause::MaxChildren, "RLIMIT_NPROC in the user namespace");
  } else {
    const std::string reason =
        "the kernel counts the processes of root in control groups only: " + groups.why_not();
    weaker(Clause::ProcessesLimit, Strength::Observed, kLoop, reason);
    weaker(Clause::MaxChildren, Strength::Observed, kLoop, reason);
  }
  if (groups.has(Controller::CpuShare))
    enforced(Clause::CpuWeight, group + " cpu");
  else
    weaker(Clause::CpuWeight, Strength::Absent, "",
           "only control groups share the CPU by weight: " + groups.why_not());
  clauses[Clause::DiskWriteLimit] = {
      .strength = Strength::Observed,
      .mechanism = kLoop,
      .reason =
          "writes of processes that end between two looks and that nobody waits for are not "
          "counted",
      .remedy = "limit file_size as well, and make the outputs small"};
  if (groups.has(Controller::Disk))
    enforced(Clause::DiskReadRate, group + (groups.version() == 2 ? " io" : " blkio"));
  else
    weaker(Clause::DiskReadRate, Strength::Absent, "",
           "only control groups hold disks back: " + groups.why_not());
  // Version 1 takes what is written back later for nobody's.
  if (groups.has(Controller::Disk) && groups.has(Controller::Memory) && groups.version() == 2)
    enforced(Clause::DiskWriteRate, group + " io and memory");
  else if (groups.has(Controller::Disk) && groups.version() == 1)
    clauses[Clause::DiskWriteRate] = {
        .strength = Strength::Absent,
        .reason = "cgroup v1 holds back only what is written past the cache (O_DIRECT, O_SYNC)",
        .remedy = "use a system with cgroup v2"};
  else
    weaker(Clause::DiskWriteRate, Strength::Absent, "",
           "only control groups with the io and memory controllers hold disks back: " +
               groups.why_not());
  clauses[Clause::NetworkBytesLimit] = {
      .strength = Strength::Enforced,
      .mechanism = "counted by who relays it or by the kernel; the supervisor's loop ends the run",
      .remedy = "list the hosts that it needs: network: [HOST], --allow-host HOST"};
  clauses[Clause::IdleTimeLimit] = {.strength = Strength::Enforced, .mechanism = kLoop};
  return clauses;
}

}  // namespace hermetic::linux_backend
