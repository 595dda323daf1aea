#include "hermetic/monitor/group_members.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/monitor/group_files.h"

namespace hermetic {
namespace {

constexpr int kDeepest = 200;
constexpr int kMostRounds = 200;  // of a millisecond

std::vector<std::string> groups_in(int group) {
  std::vector<std::string> groups;
  const Result<UniqueFd> listing = open_directory(group, ".");
  if (!listing) return groups;
  const Result<std::vector<std::string>> names = names_in(listing->get());
  if (!names) return groups;
  for (const std::string& name : *names) {
    struct stat status = {};
    if (::fstatat(group, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(status.st_mode))
      groups.push_back(name);
  }
  return groups;
}

// The group, and each below it, parents first.
void for_each_group(int group, int depth, const std::function<void(int)>& act) {
  act(group);
  if (depth > kDeepest) return;
  for (const std::string& name : groups_in(group))
    if (const Result<UniqueFd> inner = open_directory(group, name); inner)
      for_each_group(inner->get(), depth + 1, act);
}

std::set<std::uint64_t> members_of(int group) {
  std::set<std::uint64_t> members;
  for_each_group(group, 0, [&](int each) {
    const std::string text = read_group_file(each, "cgroup.procs");
    for (std::string_view rest = text; !rest.empty();)
      // Who cannot be seen from our pid namespace is 0, and to kill 0 is to kill ourselves.
      if (const auto process = number_in(take_line(rest)); process && *process > 1)
        members.insert(*process);
  });
  return members;
}

// False: nobody is left. A number that is listed again after its process was opened has been that
// process's all along, or the process that was opened is gone: nobody else is hit.
bool kill_members(int group) {
  std::vector<std::pair<std::uint64_t, UniqueFd>> opened;
  for (const std::uint64_t process : members_of(group)) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (fd.is_open()) opened.emplace_back(process, std::move(fd));
  }
  if (opened.empty()) return false;
  const std::set<std::uint64_t> still = members_of(group);
  for (const auto& [process, fd] : opened)
    if (still.contains(process))
      (void)::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
  return true;
}

int remove_group(int parent, const std::string& name, int depth) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return 0;
  const int error = errno;
  if ((error != EBUSY && error != ENOTEMPTY) || depth > kDeepest) return error;
  const Result<UniqueFd> group = open_directory(parent, name);
  if (!group) return error;
  for (const std::string& inner : groups_in(group->get()))
    (void)remove_group(group->get(), inner, depth + 1);
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

void wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < kMostRounds && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

void end_members(int group) {
  if (write_group_file(group, "cgroup.kill", "1") == 0) return;
  // Of version 1, and of version 2 before Linux 5.14: who is frozen starts nobody. Who is killed
  // while frozen goes when it is thawed.
  const bool separate = ::faccessat(group, "freezer.state", F_OK, 0) == 0;
  const char* const file = separate ? "freezer.state" : "cgroup.freeze";
  if (write_group_file(group, file, separate ? "FROZEN" : "1") == 0) {
    wait_until([&] {
      return separate
                 ? read_group_file(group, file).starts_with("FROZEN")
                 : read_group_file(group, "cgroup.events").find("frozen 1") != std::string::npos;
    });
    (void)kill_members(group);
    (void)write_group_file(group, file, separate ? "THAWED" : "0");
  }
  wait_until([&] { return !kill_members(group); });
}

void lift_rates(int group) {
  for_each_group(group, 0, [](int each) {
    for (const auto& [file, lifted] : {std::pair("io.max", "rbps=max wbps=max"),
                                       {"blkio.throttle.read_bps_device", "0"},
                                       {"blkio.throttle.write_bps_device", "0"}}) {
      const std::string text = read_group_file(each, file);
      for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = take_line(rest);  // "8:0 rbps=1048576 …", "8:0 1048576"
        const std::string_view device = line.substr(0, line.find(' '));
        (void)write_group_file(each, file, fmt::format("{} {}", device, lifted));
      }
    }
  });
}

int remove_group(int parent, const std::string& name) { return remove_group(parent, name, 0); }

}  // namespace hermetic
