#include "hermetic/backends/linux/facts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <thread>

#include "hermetic/backends/linux/kernel.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/quiet_thread.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic::linux_backend {
namespace {

// Kernel memory, keys and timers of the whole machine: read only as all of /proc is, they would
// still tell.
constexpr std::array<const char*, 4> kMasked = {"/proc/kcore", "/proc/keys", "/proc/sysrq-trigger",
                                                "/proc/timer_list"};
// Files that only root can read, and so only a command of root.
constexpr std::array<const char*, 7> kMaskedForRoot = {
    "/proc/key-users",    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags",
    "/proc/pagetypeinfo", "/proc/slabinfo",    "/proc/vmallocinfo"};

HostObject object_from(const std::string& path, const struct stat& status) {
  return {.path = path,
          .device = (std::uint64_t{major(status.st_dev)} << 32U) | minor(status.st_dev),
          .inode = status.st_ino};
}

}  // namespace

int landlock_abi_of_this_kernel() {
  const long version = ::syscall(kSysLandlockCreateRuleset, nullptr, 0, kLandlockCreateVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

bool has_new_mount_calls() {
  // An impossible call: a kernel that has it says EINVAL or EPERM, one that has not says ENOSYS.
  return ::syscall(kSysMountSetattr, -1, nullptr, ~0U, nullptr, 0) == 0 || errno != ENOSYS;
}

// Since 5.11 also without privileges, which is how it is mounted here.
bool has_overlay() {
  utsname name = {};
  int major_number = 0;
  int minor_number = 0;
  if (::uname(&name) != 0 ||
      std::sscanf(name.release, "%d.%d", &major_number, &minor_number) != 2 || major_number < 5 ||
      (major_number == 5 && minor_number < 11))
    return false;
  std::ifstream file("/proc/filesystems");
  for (std::string word; file >> word;)
    if (word == "overlay") return true;
  return false;
}

bool has_marks_in_memory() {
  const UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "trial", MFD_CLOEXEC)));
  return file.is_open() && ::fsetxattr(file.get(), "user.overlay.trial", "y", 1, 0) == 0;
}

bool has_time_namespaces() { return ::access("/proc/self/ns/time_for_children", F_OK) == 0; }

std::string why_no_listener() {
  std::uint32_t action = SECCOMP_RET_USER_NOTIF;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0)
    return "this kernel cannot be asked about system calls";
  if (::syscall(SYS_pidfd_getfd, -1, 0, 0) != 0 && errno != EBADF)
    return "sockets of others cannot be looked at: the kernel is older than 5.6, or a filter "
           "around this process forbids it (pidfd_getfd)";
  if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0) return "";  // nobody filters us
  // Somebody does, and may listen, too. A filter holds for the thread that loads it: this one ends.
  long listener = -1;
  int reason = 0;
  const auto try_it = [&] {
    sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog program = {.len = 1, .filter = &allow};
    (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    listener =
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    reason = errno;
  };
  std::thread trial = start_quiet_thread(try_it);
  if (!trial.joinable()) return "no thread can be had to try it: the user has no process left";
  trial.join();
  if (listener >= 0) ::close(static_cast<int>(listener));
  if (listener >= 0) return "";
  return reason == EBUSY ? "another sandbox around this one watches already, and only one can"
                         : "a filter around this process does not let it watch others";
}

Result<HostObject> identify_object(const std::string& path, int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0)
    return system_error(fmt::format("cannot inspect '{}'", printable(path)), errno);
  return object_from(path, status);
}

Result<std::string> some_cpus(std::uint64_t count) {
  std::string mask(1024, '\0');  // for as many as 8192, which is what the kernel can be built for
  const long size = ::syscall(SYS_sched_getaffinity, 0, mask.size(), mask.data());
  if (size < 0) return system_error("cannot find out which CPUs there are", errno);
  mask.resize(static_cast<std::size_t>(size));
  for (char& byte : mask)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const unsigned place = 1U << bit;
      if ((static_cast<unsigned char>(byte) & place) == 0) continue;
      if (count > 0)
        --count;
      else
        byte = static_cast<char>(static_cast<unsigned char>(byte) & ~place);
    }
  return mask;
}

Result<Facts> gather_facts(int landlock_abi, bool classic_mounts) {
  Facts facts;
  facts.user = ::geteuid();
  if (::getrandom(&facts.program_key, sizeof facts.program_key, 0) != sizeof facts.program_key)
    return system_error("cannot get random bytes", errno);
  facts.group = ::getegid();
  (void)::clock_gettime(CLOCK_MONOTONIC, &facts.monotonic);
  (void)::clock_gettime(CLOCK_BOOTTIME, &facts.boottime);
  facts.landlock_abi = landlock_abi;
  facts.classic_mounts = classic_mounts;
  for (const std::string_view path : kDeviceFiles) {
    const std::string name(path);
    struct stat status = {};
    if (::lstat(name.c_str(), &status) != 0)
      return system_error(fmt::format("cannot find the device {}", name), errno);
    facts.devices.push_back(object_from(name, status));
  }
  for (const char* path : kMasked)
    if (::access(path, F_OK) == 0) facts.masked.emplace_back(path);
  for (const char* path : kMaskedForRoot)
    if (facts.user == 0 && ::access(path, F_OK) == 0) facts.masked.emplace_back(path);
  if (classic_mounts) facts.mounts = TRY(MountTable::of_this_process());
  return facts;
}

Result<void> identify_outputs(const Staging& staging, Facts& facts) {
  for (const MakerDirectory& maker : staging.maker_directories()) {
    const UniqueFd tree(::openat(maker.descriptor.get(), "tree", O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!tree.is_open()) return system_error("cannot open the prepared directory", errno);
    facts.staging[maker.path] = TRY(identify_object(maker.tree(), tree.get()));
  }
  for (const StagedOutput& staged : staging.outputs()) {
    if (!staged.publication.made_in.empty()) continue;
    const UniqueFd tree(::openat(staged.descriptor.get(), "tree", O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!tree.is_open()) return system_error("cannot open the prepared output", errno);
    facts.staging[staged.publication.path] = TRY(identify_object(staged.tree(), tree.get()));
  }
  return {};
}

Result<void> identify_copies(const Staging& staging, Facts& facts) {
  for (const ChangePlaces::Place& place : staging.changes().copies()) {
    const UniqueFd upper(::openat(place.directory.get(), kUpper, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!upper.is_open()) return system_error("cannot open the copy of a temp", errno);
    facts.copies[place.temp] = TRY(identify_object(place.upper, upper.get()));
  }
  return {};
}

void count_shown_layers(const Plan& plan, Facts& facts) {
  for (const ViewEntry& temp : plan.view) {
    std::vector<std::string> layers;
    for (const PlannedLayer& layer : temp.over) layers.push_back(layer.source);
    if (!layers.empty()) facts.shown_layers[temp.path] = shown_layers(layers);
  }
}

}  // namespace hermetic::linux_backend
