#include "hermetic/monitor/control_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <thread>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/monitor/group_files.h"
#include "hermetic/monitor/group_members.h"
#include "hermetic/monitor/group_settings.h"

namespace hermetic {
namespace {

// A group of version 2 with a controller of version 1's name.
struct ControllerName {
  Controller controller;
  std::string_view unified;
  std::string_view separate;
};
constexpr std::array<ControllerName, 6> kNames = {{{Controller::Freezer, "freezer", "freezer"},
                                                   {Controller::Memory, "memory", "memory"},
                                                   {Controller::Processes, "pids", "pids"},
                                                   {Controller::CpuShare, "cpu", "cpu"},
                                                   // Version 2 counts CPU time in every group.
                                                   {Controller::CpuAccounting, "", "cpuacct"},
                                                   {Controller::Disk, "io", "blkio"}}};

std::string read_file(const std::string& path) { return read_group_file(AT_FDCWD, path.c_str()); }

bool has_word(std::string_view text, std::string_view word, std::string_view separators) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return false;
}

// The line of /proc/self/cgroup that names the controller, "" for version 2: "4:memory:/a/b".
std::optional<std::string> membership(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const bool found = controller.empty() ? names.empty() : has_word(names, controller, ",");
    if (found) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

bool is_directory(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Where the process is: in a container the path may be one of the host, whose part is mounted as
// the root.
std::string own_directory(const std::string& root, std::string_view path) {
  const std::string whole = path == "/" ? root : root + std::string(path);
  return is_directory(whole) ? whole : root;
}

bool can_write(const std::string& path) { return ::access(path.c_str(), W_OK) == 0; }

std::string parent_directory(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Of a run that may outlive its hermetic: whoever is in it was meant to stay.
constexpr std::string_view kStays = "-stays";

std::string prefix_of_user() { return fmt::format("hermetic-{}-", ::geteuid()); }

std::vector<Controller> controllers_for(const GroupLimits& limits) {
  std::vector<Controller> wanted;
  if (limits.memory_bytes) wanted.push_back(Controller::Memory);
  if (limits.processes) wanted.push_back(Controller::Processes);
  if (limits.cpu_weight || limits.cpus) wanted.push_back(Controller::CpuShare);
  if (limits.count_cpu_time) wanted.push_back(Controller::CpuAccounting);
  if (limits.count_disk || !limits.disk_rates.empty()) wanted.push_back(Controller::Disk);
  return wanted;
}

// May there be groups with controllers below this one? Only without processes in it, cgroups(7) "no
// internal processes"; the real root, which has no type, may have both.
bool can_have_groups(const std::string& place) {
  if (!can_write(place + "/cgroup.subtree_control")) return false;
  const bool is_root = ::access((place + "/cgroup.type").c_str(), F_OK) != 0;
  return is_root || read_file(place + "/cgroup.procs").empty();
}

// Somebody may be left in a group although nothing is to outlive hermetic: stopped, frozen, or held
// back by a disk.
bool empty_and_remove(int place, const std::string& name, int group,
                      std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  int error = remove_group(place, name);
  if (error != EBUSY) return error == 0;
  lift_rates(group);
  end_members(group);
  for (const Clock::time_point last = Clock::now() + patience;
       (error = remove_group(place, name)) == EBUSY && Clock::now() < last;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return error == 0;
}

}  // namespace

ControlGroups ControlGroups::none(std::string reason) {
  ControlGroups groups;
  groups.why_not_ = std::move(reason);
  return groups;
}

ControlGroups ControlGroups::of_this_process() {
  return find("/sys/fs/cgroup", read_file("/proc/self/cgroup"));
}

ControlGroups ControlGroups::find(const std::string& root, std::string_view memberships) {
  ControlGroups groups;
  groups.unified_ = ::access((root + "/cgroup.controllers").c_str(), R_OK) == 0;
  if (groups.unified_)
    groups.find_unified(root, memberships);
  else
    groups.find_separate(root, memberships);
  if (groups.places_.empty() && groups.why_not_.empty())
    groups.why_not_ = fmt::format("no control group is yours to write to below {}", root);
  return groups;
}

// The nearest directory at or above our own that may have groups below it. Our own has at least us
// in it, so that what we make stands beside us.
void ControlGroups::find_unified(const std::string& root, std::string_view memberships) {
  const std::optional<std::string> path = membership(memberships, "");
  if (!path) return;
  for (std::string place = own_directory(root, *path);; place = parent_directory(place)) {
    const bool ours = can_write(place) && can_write(place + "/cgroup.procs");
    if (ours && !places_.contains(Controller::CpuAccounting))
      places_[Controller::CpuAccounting] = place;
    if (ours && can_have_groups(place)) {
      const std::string available = read_file(place + "/cgroup.controllers");
      for (const ControllerName& name : kNames)
        if (name.unified.empty() || has_word(available, name.unified, " \n"))
          places_[name.controller] = place;
      return;
    }
    if (place == root || place.size() <= root.size()) return;
  }
}

void ControlGroups::find_separate(const std::string& root, std::string_view memberships) {
  for (const ControllerName& name : kNames) {
    const std::optional<std::string> path = membership(memberships, name.separate);
    if (!path) continue;
    const std::string hierarchy = fmt::format("{}/{}", root, name.separate);
    const std::string place = own_directory(hierarchy, *path);
    if (can_write(place) && can_write(place + "/cgroup.procs")) places_[name.controller] = place;
  }
}

// Locked while we live: a group that is not locked was left by a run that was killed. Whoever
// removes such groups may take ours for one in the moment before it is locked; then another is
// made, under another name: what is removed is removed by name.
Result<void> ControlGroups::add_folder(ControlGroup& group, const std::string& place,
                                       bool members_may_stay) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random)
      return system_error("cannot get random bytes", errno);
    const std::string path = fmt::format("{}/{}{}-{:016x}{}", place, prefix_of_user(), ::getpid(),
                                         random, members_may_stay ? kStays : "");
    const auto failed = [&](int error) {
      return system_error(fmt::format("cannot make the control group '{}'", printable(path)),
                          error);
    };
    if (::mkdir(path.c_str(), 0755) != 0) return failed(errno);
    UniqueFd descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int error = descriptor.is_open() ? ENOENT : errno;
    const bool locked = descriptor.is_open() && ::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0;
    if (locked && is_directory(path)) {
      group.folders_.push_back({path, std::move(descriptor)});
      return {};
    }
    ::rmdir(path.c_str());
    if (error != ENOENT) return failed(error);
  }
  return system_error(fmt::format("cannot keep a control group in '{}'", printable(place)), EBUSY,
                      "something removes it at once");
}

Result<ControlGroup> ControlGroups::make(const GroupLimits& limits) const {
  (void)remove_abandoned({});  // who does not go at once does not keep us from starting
  ControlGroup group;
  group.unified_ = unified_;
  group.has_rates_ = !limits.disk_rates.empty();
  std::vector<Controller> wanted = controllers_for(limits);
  // Version 2 knows whose written pages they are by whose memory they are.
  if (unified_ && group.has_rates_ && has(Controller::Memory)) wanted.push_back(Controller::Memory);
  // Version 1 empties a group by freezing it.
  if (has(Controller::Freezer)) wanted.push_back(Controller::Freezer);
  std::vector<std::string> made;
  for (const Controller controller : wanted) {
    const auto found = places_.find(controller);
    if (found == places_.end()) return unsupported("a control group is missing", why_not_);
    // Two controllers of version 1 may share one hierarchy under two names.
    const std::string place = unified_ ? found->second : TRY(real_path_of(found->second));
    const auto same = std::find(made.begin(), made.end(), place);
    group.controllers_[controller] = static_cast<std::size_t>(same - made.begin());
    if (same != made.end()) continue;
    TRY(add_folder(group, place, limits.members_may_stay));
    made.push_back(place);
  }
  TRY(apply(group, limits));
  TRY(open_doors(group, limits.members_may_mount));
  return group;
}

Result<void> ControlGroups::open_doors(ControlGroup& group, bool below) {
  const std::string file = below ? "inside/cgroup.procs" : "cgroup.procs";
  for (const ControlGroup::Folder& folder : group.folders_) {
    const int directory = folder.descriptor.get();
    const bool there = !below || ::mkdirat(directory, "inside", 0755) == 0;
    UniqueFd door(there ? ::openat(directory, file.c_str(), O_WRONLY | O_CLOEXEC) : -1);
    if (!door.is_open())
      return system_error(fmt::format("cannot open the control group '{}'", printable(folder.path)),
                          errno);
    group.doors_.push_back(std::move(door));
  }
  return {};
}

Result<std::string> ControlGroups::real_path_of(const std::string& path) {
  std::array<char, 4096> resolved = {};
  if (::realpath(path.c_str(), resolved.data()) == nullptr)
    return system_error(fmt::format("cannot find '{}'", printable(path)), errno);
  return std::string(resolved.data());
}

// Version 2: what the parent does not pass on, a group does not have.
Result<void> ControlGroups::pass_on(const ControlGroup& group) const {
  for (const ControllerName& name : kNames) {
    if (!group.controllers_.contains(name.controller) || name.unified.empty()) continue;
    const std::string& place = places_.at(name.controller);
    const std::string file = place + "/cgroup.subtree_control";
    if (has_word(read_file(file), name.unified, " \n")) continue;
    if (const int error =
            write_group_file(AT_FDCWD, file.c_str(), fmt::format("+{}", name.unified));
        error != 0)
      return system_error(
          fmt::format("cannot pass the controller '{}' on in '{}'", name.unified, printable(place)),
          error, "start hermetic by: systemd-run --user --scope -p Delegate=yes hermetic …");
  }
  return {};
}

Result<void> ControlGroups::apply(const ControlGroup& group, const GroupLimits& limits) const {
  if (unified_) TRY(pass_on(group));
  for (const GroupSetting& setting :
       unified_ ? unified_settings(limits) : separate_settings(limits)) {
    const ControlGroup::Folder* folder = group.folder_of(setting.controller);
    const int directory = folder->descriptor.get();
    if (setting.only_if_there && ::faccessat(directory, setting.file, F_OK, 0) != 0) continue;
    if (const int error = write_group_file(directory, setting.file, setting.text); error != 0)
      return system_error(fmt::format("cannot set {} of the control group '{}'", setting.file,
                                      printable(folder->path)),
                          error);
  }
  return {};
}

std::vector<std::string> ControlGroups::places() const {
  std::vector<std::string> places;
  for (const auto& [controller, place] : places_)
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  return places;
}

std::vector<std::string> ControlGroups::remove_abandoned(std::chrono::milliseconds patience) const {
  std::vector<std::string> removed;
  const std::string prefix = prefix_of_user();
  for (const std::string& place : places()) {
    const Result<UniqueFd> directory = open_directory(AT_FDCWD, place);
    if (!directory) continue;
    const Result<std::vector<std::string>> names = names_in(directory->get());
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!name.starts_with(prefix)) continue;
      const Result<UniqueFd> group = open_directory(directory->get(), name);
      struct stat status = {};
      if (!group || ::fstat(group->get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
      if (::flock(group->get(), LOCK_EX | LOCK_NB) != 0) continue;
      const bool gone = name.ends_with(kStays)
                            ? remove_group(directory->get(), name) == 0
                            : empty_and_remove(directory->get(), name, group->get(), patience);
      if (gone) removed.push_back(fmt::format("{}/{}", place, name));
    }
  }
  return removed;
}

ControlGroup& ControlGroup::operator=(ControlGroup&& other) noexcept {
  remove();
  unified_ = other.unified_;
  has_rates_ = other.has_rates_;
  folders_ = std::move(other.folders_);
  controllers_ = std::move(other.controllers_);
  doors_ = std::move(other.doors_);
  other.folders_.clear();
  return *this;
}

void ControlGroup::lift_rates() const {
  if (!has_rates_) return;
  for (const Folder& folder : folders_) hermetic::lift_rates(folder.descriptor.get());
}

void ControlGroup::end_members() const {
  for (const Folder& folder : folders_) hermetic::end_members(folder.descriptor.get());
}

void ControlGroup::remove() {
  doors_.clear();
  lift_rates();  // or what was written and is still to be taken would go on at that rate for ever
  for (const Folder& folder : folders_)
    (void)empty_and_remove(AT_FDCWD, folder.path, folder.descriptor.get(), kLeaving);
  folders_.clear();
}

const ControlGroup::Folder* ControlGroup::folder_of(Controller controller) const {
  const auto found = controllers_.find(controller);
  return found == controllers_.end() ? nullptr : &folders_[found->second];
}

std::optional<std::uint64_t> ControlGroup::number(Controller controller, const char* file) const {
  const Folder* folder = folder_of(controller);
  if (folder == nullptr) return std::nullopt;
  return number_in(read_group_file(folder->descriptor.get(), file));
}

std::optional<std::uint64_t> ControlGroup::number(Controller controller, const char* file,
                                                  std::string_view key) const {
  const Folder* folder = folder_of(controller);
  if (folder == nullptr) return std::nullopt;
  const std::string text = read_group_file(folder->descriptor.get(), file);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.starts_with(key)) return number_in(line.substr(key.size()));
  }
  return std::nullopt;
}

std::optional<ControlGroup::CpuTime> ControlGroup::cpu_time() const {
  using std::chrono::microseconds;
  if (unified_) {
    const auto user = number(Controller::CpuAccounting, "cpu.stat", "user_usec ");
    const auto system = number(Controller::CpuAccounting, "cpu.stat", "system_usec ");
    if (!user || !system) return std::nullopt;
    return CpuTime{microseconds(*user), microseconds(*system)};
  }
  const auto user = number(Controller::CpuAccounting, "cpuacct.usage_user");
  const auto system = number(Controller::CpuAccounting, "cpuacct.usage_sys");
  if (!user || !system) return std::nullopt;
  return CpuTime{microseconds(*user / 1000), microseconds(*system / 1000)};
}

std::optional<std::uint64_t> ControlGroup::memory_bytes() const {
  return number(Controller::Memory, unified_ ? "memory.current" : "memory.usage_in_bytes");
}

std::optional<std::uint64_t> ControlGroup::peak_memory_bytes() const {
  return number(Controller::Memory, unified_ ? "memory.peak" : "memory.max_usage_in_bytes");
}

std::uint64_t ControlGroup::killed_for_memory() const {
  const auto killed = [&](const char* file) {
    return number(Controller::Memory, file, "oom_kill ").value_or(0);
  };
  if (unified_) return killed("memory.events");
  // Version 1 counts where the process was, and not above it.
  return killed("memory.oom_control") + killed("inside/memory.oom_control");
}

std::uint64_t ControlGroup::refused_processes() const {
  return number(Controller::Processes, "pids.events", "max ").value_or(0);
}

std::optional<std::uint64_t> ControlGroup::processes() const {
  return number(Controller::Processes, "pids.current");
}

std::uint64_t ControlGroup::disk_read_bytes() const {
  return disk_bytes(unified_ ? " rbytes=" : " Read ");
}

std::uint64_t ControlGroup::disk_written_bytes() const {
  return disk_bytes(unified_ ? " wbytes=" : " Write ");
}

std::uint64_t ControlGroup::disk_bytes(std::string_view key) const {
  const Folder* folder = folder_of(Controller::Disk);
  if (folder == nullptr) return 0;
  // A line for each device: "8:0 rbytes=1 wbytes=2 …", or, one for each act, "8:0 Write 2".
  const std::string text = read_group_file(
      folder->descriptor.get(), unified_ ? "io.stat" : "blkio.throttle.io_service_bytes_recursive");
  std::uint64_t sum = 0;
  for (std::size_t place = text.find(key); place != std::string::npos;
       place = text.find(key, place + 1))
    sum += number_in(std::string_view(text).substr(place + key.size())).value_or(0);
  return sum;
}

std::optional<Pressure> ControlGroup::pressure() const {
  if (!unified_ || folders_.empty()) return std::nullopt;
  const auto waited = [&](const char* file) -> std::optional<std::chrono::microseconds> {
    // "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234"
    const std::string text = read_group_file(folders_.front().descriptor.get(), file);
    const std::size_t total = text.find("total=");
    if (!text.starts_with("some") || total == std::string::npos) return std::nullopt;
    return std::chrono::microseconds(
        number_in(std::string_view(text).substr(total + 6)).value_or(0));
  };
  const auto cpu = waited("cpu.pressure");
  const auto memory = waited("memory.pressure");
  const auto disk = waited("io.pressure");
  if (!cpu || !memory || !disk) return std::nullopt;
  return Pressure{.cpu = *cpu, .memory = *memory, .disk = *disk};
}

}  // namespace hermetic
