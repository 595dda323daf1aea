#include "hermetic/monitor/group_settings.h"

#include <fmt/format.h>

#include <algorithm>

namespace hermetic {
namespace {

constexpr std::uint64_t kCpuPeriod = 100'000;  // microseconds

}  // namespace

std::vector<GroupSetting> unified_settings(const GroupLimits& limits) {
  std::vector<GroupSetting> settings;
  if (limits.memory_bytes) {
    settings.push_back({Controller::Memory, "memory.max", std::to_string(*limits.memory_bytes)});
    settings.push_back({Controller::Memory, "memory.swap.max", "0", true});
    settings.push_back({Controller::Memory, "memory.oom.group", "1"});  // all of them, or none
  }
  if (limits.processes)
    settings.push_back({Controller::Processes, "pids.max", std::to_string(*limits.processes)});
  if (limits.cpu_weight)
    settings.push_back({Controller::CpuShare, "cpu.weight", std::to_string(*limits.cpu_weight)});
  if (limits.cpus)
    settings.push_back({Controller::CpuShare, "cpu.max",
                        fmt::format("{} {}", *limits.cpus * kCpuPeriod, kCpuPeriod)});
  for (const DiskRate& rate : limits.disk_rates) {
    const auto number = [](const std::optional<std::uint64_t>& bytes) {
      return bytes ? std::to_string(*bytes) : std::string("max");
    };
    settings.push_back({Controller::Disk, "io.max",
                        fmt::format("{} rbps={} wbps={}", rate.disk, number(rate.read_bytes),
                                    number(rate.written_bytes))});
  }
  return settings;
}

std::vector<GroupSetting> separate_settings(const GroupLimits& limits) {
  std::vector<GroupSetting> settings;
  if (limits.memory_bytes) {
    const std::string bytes = std::to_string(*limits.memory_bytes);
    // Or groups below this one would not be limited by it; newer kernels know nothing else.
    settings.push_back({Controller::Memory, "memory.use_hierarchy", "1", true});
    settings.push_back({Controller::Memory, "memory.limit_in_bytes", bytes});
    // Or the limit would only move the memory to the swap.
    settings.push_back({Controller::Memory, "memory.swappiness", "0"});
    settings.push_back({Controller::Memory, "memory.memsw.limit_in_bytes", bytes, true});
    // What waits in sockets is counted apart.
    settings.push_back({Controller::Memory, "memory.kmem.tcp.limit_in_bytes", bytes, true});
  }
  if (limits.processes)
    settings.push_back({Controller::Processes, "pids.max", std::to_string(*limits.processes)});
  if (limits.cpu_weight) {  // 1024 is what 100 is in version 2
    const std::uint64_t shares = std::max<std::uint64_t>(2, *limits.cpu_weight * 1024 / 100);
    settings.push_back({Controller::CpuShare, "cpu.shares", std::to_string(shares)});
  }
  if (limits.cpus)
    settings.push_back(
        {Controller::CpuShare, "cpu.cfs_quota_us", std::to_string(*limits.cpus * kCpuPeriod)});
  for (const DiskRate& rate : limits.disk_rates) {
    const auto add = [&](const char* file, const std::optional<std::uint64_t>& bytes) {
      if (bytes)
        settings.push_back({Controller::Disk, file, fmt::format("{} {}", rate.disk, *bytes)});
    };
    add("blkio.throttle.read_bps_device", rate.read_bytes);
    add("blkio.throttle.write_bps_device", rate.written_bytes);
  }
  return settings;
}

}  // namespace hermetic
