// Usage: what the processes of a run have used, all together.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hermetic {

// Reads and writes of whatever kind, and of those what came from or went to a disk.
struct TransferCounts {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t read_calls = 0;
  std::uint64_t write_calls = 0;
  std::uint64_t disk_read_bytes = 0;
  std::uint64_t disk_written_bytes = 0;

  TransferCounts& operator+=(const TransferCounts& other) {
    read_bytes += other.read_bytes;
    written_bytes += other.written_bytes;
    read_calls += other.read_calls;
    write_calls += other.write_calls;
    disk_read_bytes += other.disk_read_bytes;
    disk_written_bytes += other.disk_written_bytes;
    return *this;
  }
  friend bool operator==(const TransferCounts&, const TransferCounts&) = default;
};

// One process that was seen. Those that live shorter than the time between two looks are not.
struct ProcessUsage {
  std::uint64_t process = 0;  // its number inside
  std::uint64_t parent = 0;
  std::string name;
  std::chrono::microseconds user_time = {};
  std::chrono::microseconds system_time = {};
  std::uint64_t peak_memory_bytes = 0;
  TransferCounts transfers;  // with those of children that it has waited for

  friend bool operator==(const ProcessUsage&, const ProcessUsage&) = default;
};

// How long somebody had to wait for the resource.
struct Pressure {
  std::chrono::microseconds cpu = {};
  std::chrono::microseconds memory = {};
  std::chrono::microseconds disk = {};

  friend bool operator==(const Pressure&, const Pressure&) = default;
};

struct Usage {
  // What a number of bytes of memory stands for, from the weakest to the strongest.
  enum class MemoryMeasure {
    LargestProcess,  // resident, of one process
    Samples,         // resident, of all processes, when somebody looked
    Kernel,          // charged to the run's control group
  };

  std::chrono::microseconds wall_time = {};
  std::chrono::microseconds user_time = {};
  std::chrono::microseconds system_time = {};
  std::uint64_t memory_bytes = 0;  // now
  std::uint64_t peak_memory_bytes = 0;
  MemoryMeasure memory_measure = MemoryMeasure::LargestProcess;
  std::uint64_t processes = 0;  // now, threads included
  std::uint64_t peak_processes = 0;
  std::uint64_t started_processes = 0;  // threads included
  TransferCounts transfers;
  // Over the sandbox's own loopback, or to and from allowed hosts; none: no network to count.
  std::optional<std::uint64_t> network_bytes = {};
  std::uint64_t minor_faults = 0;  // page faults without and with the disk
  std::uint64_t major_faults = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
  std::optional<Pressure> pressure = {};
  std::vector<ProcessUsage> by_process = {};  // if it was asked for

  [[nodiscard]] std::chrono::microseconds cpu_time() const { return user_time + system_time; }

  friend bool operator==(const Usage&, const Usage&) = default;
};

[[nodiscard]] constexpr std::string_view to_string(Usage::MemoryMeasure measure) {
  switch (measure) {
    case Usage::MemoryMeasure::LargestProcess: return "largest_process";
    case Usage::MemoryMeasure::Samples: return "samples";
    case Usage::MemoryMeasure::Kernel: return "kernel";
  }
  return "";
}

}  // namespace hermetic
