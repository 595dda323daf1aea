// Control groups: limits that the kernel keeps for all processes of a run together, and numbers
// that it counts for them. cgroups(7).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/run/usage.h"

namespace hermetic {

// A process that was just waited for, or killed, may still be leaving its group: for long, where
// many wait for a processor.
inline constexpr std::chrono::milliseconds kLeaving{3000};

enum class Controller { Freezer, Memory, Processes, CpuShare, CpuAccounting, Disk };

// Bytes a second, from and to one disk.
struct DiskRate {
  std::string disk;  // "8:0"
  std::optional<std::uint64_t> read_bytes = {};
  std::optional<std::uint64_t> written_bytes = {};

  friend bool operator==(const DiskRate&, const DiskRate&) = default;
};

// What a group is made for; what is absent is not limited.
struct GroupLimits {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> cpu_weight;
  std::optional<std::uint64_t> cpus;  // as much CPU time as so many of them have
  bool count_cpu_time = false;
  bool count_disk = false;
  std::vector<DiskRate> disk_rates = {};
  // The members may mount what they like, and so reach the files of the group that is the root of
  // their namespace: they get one below the one that is limited.
  bool members_may_mount = false;
  // The members may outlive us: whoever clears up lets them be.
  bool members_may_stay = false;

  [[nodiscard]] bool any() const {
    return memory_bytes || processes || cpu_weight || cpus || count_cpu_time || count_disk ||
           !disk_rates.empty();
  }
};

// A group of its own for one run. Removed when it goes; whoever is left in it by then is killed.
class ControlGroup {
 public:
  ControlGroup() = default;
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  ControlGroup(ControlGroup&& other) noexcept = default;
  ControlGroup& operator=(ControlGroup&& other) noexcept;
  ~ControlGroup() { remove(); }

  [[nodiscard]] bool exists() const { return !folders_.empty(); }
  // A process that writes "0" to all of these is in the group, and so are those that it starts.
  [[nodiscard]] const std::vector<UniqueFd>& doors() const { return doors_; }
  void close_doors() { doors_.clear(); }

  // Kills everybody in it.
  void end_members() const;
  // Disks do not hold them back any more: they are to end.
  void lift_rates() const;

  // What the kernel has counted; absent if it does not.
  struct CpuTime {
    std::chrono::microseconds user = {};
    std::chrono::microseconds system = {};
  };
  [[nodiscard]] std::optional<CpuTime> cpu_time() const;
  [[nodiscard]] std::optional<std::uint64_t> memory_bytes() const;
  [[nodiscard]] std::optional<std::uint64_t> peak_memory_bytes() const;
  [[nodiscard]] std::uint64_t killed_for_memory() const;  // processes
  [[nodiscard]] std::uint64_t refused_processes() const;  // attempts to start one
  [[nodiscard]] std::optional<std::uint64_t> processes() const;
  [[nodiscard]] std::optional<Pressure> pressure() const;
  // What has reached the disk; what is still to be written is not in it.
  [[nodiscard]] std::uint64_t disk_written_bytes() const;
  [[nodiscard]] std::uint64_t disk_read_bytes() const;

 private:
  friend class ControlGroups;
  struct Folder {
    std::string path;
    UniqueFd descriptor;  // locked as long as the run lives
  };

  [[nodiscard]] const Folder* folder_of(Controller controller) const;
  [[nodiscard]] std::optional<std::uint64_t> number(Controller controller, const char* file) const;
  [[nodiscard]] std::optional<std::uint64_t> number(Controller controller, const char* file,
                                                    std::string_view key) const;
  [[nodiscard]] std::uint64_t disk_bytes(std::string_view key) const;
  void remove();

  bool unified_ = false;  // version 2
  bool has_rates_ = false;
  std::vector<Folder> folders_;
  std::map<Controller, std::size_t> controllers_;  // the number of the folder that has it
  std::vector<UniqueFd> doors_;
};

// Where this user can make groups on this host.
class ControlGroups {
 public:
  // Looks, and changes nothing. `root` is /sys/fs/cgroup, `memberships` the text of
  // /proc/self/cgroup.
  static ControlGroups find(const std::string& root, std::string_view memberships);
  static ControlGroups of_this_process();
  static ControlGroups none(std::string reason);

  [[nodiscard]] bool has(Controller controller) const { return places_.contains(controller); }
  [[nodiscard]] int version() const { return places_.empty() ? 0 : unified_ ? 2 : 1; }
  // The directories in which groups are made, each once.
  [[nodiscard]] std::vector<std::string> places() const;
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

  // Fails if a limit cannot be put in force; nothing is left then. First removes what runs that
  // were killed have left there.
  [[nodiscard]] Result<ControlGroup> make(const GroupLimits& limits) const;

  // Removes the groups of this user's runs whose hermetic is gone, with everybody who is left in
  // them, unless they were meant to stay; returns their paths.
  [[nodiscard]] std::vector<std::string> remove_abandoned(
      std::chrono::milliseconds patience = kLeaving) const;

 private:
  static Result<std::string> real_path_of(const std::string& path);
  void find_unified(const std::string& root, std::string_view memberships);
  void find_separate(const std::string& root, std::string_view memberships);
  static Result<void> add_folder(ControlGroup& group, const std::string& place,
                                 bool members_may_stay);
  static Result<void> open_doors(ControlGroup& group, bool below);
  [[nodiscard]] Result<void> pass_on(const ControlGroup& group) const;
  [[nodiscard]] Result<void> apply(const ControlGroup& group, const GroupLimits& limits) const;

  bool unified_ = false;
  std::map<Controller, std::string> places_;  // the directory in which its groups are made
  std::string why_not_;
};

}  // namespace hermetic
