// ProcessTable: what the kernel says in /proc about the processes of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/run/usage.h"

namespace hermetic {

struct ProcessSample {
  std::uint64_t process = 0;
  std::uint64_t parent = 0;
  std::string name;
  std::uint64_t threads = 0;
  std::uint64_t started_ticks = 0;  // with the number, tells one process from the next
  std::uint64_t resident_bytes = 0;
  // Its own, and those of the children that it has waited for.
  std::chrono::microseconds user_time = {};
  std::chrono::microseconds system_time = {};
  std::chrono::microseconds user_time_of_children = {};
  std::chrono::microseconds system_time_of_children = {};
  TransferCounts transfers;  // with those of children that it has waited for

  friend bool operator==(const ProcessSample&, const ProcessSample&) = default;
};

// The text of /proc/N/stat and /proc/N/io, proc(5); false if it is none.
[[nodiscard]] bool parse_process_stat(std::string_view text, ProcessSample& sample);
[[nodiscard]] bool parse_process_io(std::string_view text, TransferCounts& counts);
// What has come in over the loopback, by the text of /proc/N/net/dev.
[[nodiscard]] std::optional<std::uint64_t> parse_loopback_bytes(std::string_view text);

class ProcessTable {
 public:
  ProcessTable() = default;
  // `proc` is a /proc: that of a pid namespace shows its processes only.
  explicit ProcessTable(UniqueFd proc) : proc_(std::move(proc)) {}

  [[nodiscard]] bool is_open() const { return proc_.is_open(); }

  // Everyone who is there; a process that ends meanwhile is left out.
  enum class Transfers { Read, Skip };
  [[nodiscard]] std::vector<ProcessSample> read(Transfers transfers) const;
  // `root` and its descendants only.
  [[nodiscard]] std::vector<ProcessSample> read_tree(std::uint64_t root, Transfers transfers) const;

  [[nodiscard]] TransferCounts transfers_of(std::uint64_t process) const;
  // What has come in over the loopback of the network that it is in; nothing if that is not told.
  [[nodiscard]] std::optional<std::uint64_t> loopback_bytes_of(std::uint64_t process) const;
  // Its share of the memory: what several processes map together counts once. Slow. 0 if it is
  // gone; nothing if it is closed to us.
  [[nodiscard]] std::optional<std::uint64_t> proportional_bytes_of(std::uint64_t process) const;

 private:
  [[nodiscard]] bool read_file(const char* path, std::string& text) const;

  UniqueFd proc_;
};

}  // namespace hermetic
