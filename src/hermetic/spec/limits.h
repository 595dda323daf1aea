// ResourceLimits: how much of the machine a command may use. An absent limit is no limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace hermetic {

struct ResourceLimits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::chrono::milliseconds> cpu_time;  // of all processes together
  std::optional<std::chrono::milliseconds> wall_time;
  std::optional<std::chrono::milliseconds> idle_time;  // without output and without CPU time
  std::optional<std::uint64_t> processes;              // alive at the same time, threads included
  std::optional<std::uint64_t> file_size_bytes;        // of each file written
  std::optional<std::uint64_t> open_files;             // of each process
  std::optional<std::uint64_t> disk_write_bytes;       // of all processes together
  std::optional<std::uint64_t> disk_read_rate;         // bytes a second, of each disk
  std::optional<std::uint64_t> disk_write_rate;
  std::optional<std::uint64_t> network_bytes;  // both ways, of all processes together
  std::optional<std::uint64_t> cpu_weight;     // 1 to 10000; the system's default is 100

  // A sound limit for a build step: 4 GiB of memory, one hour of CPU, 128 processes.
  static ResourceLimits hermetic() {
    return {.memory_bytes = std::uint64_t{4} << 30U,
            .cpu_time = std::chrono::hours(1),
            .processes = 128};
  }

  friend bool operator==(const ResourceLimits&, const ResourceLimits&) = default;
};

// What a command may do with processes.
struct ProcessPolicy {
  std::optional<std::uint64_t> max_children;  // processes the command may have besides itself
  std::optional<std::uint64_t> cpus;          // how many of the caller's CPUs it runs on
  std::optional<std::uint64_t> nice;          // 1 to 19: gives way to others by so much
  bool kill_on_parent_exit = true;            // nothing outlives whoever called hermetic
  bool allow_fork = true;
  bool allow_exec = true;  // false: the declared command is the only program that runs

  static ProcessPolicy hermetic() { return {}; }

  friend bool operator==(const ProcessPolicy&, const ProcessPolicy&) = default;
};

}  // namespace hermetic
