// Does one thing to the mounts, or to what namespaces the process is in: mount_act VERB [PATH].
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

constexpr long kOpenTree = 428;
constexpr long kMoveMount = 429;
constexpr long kFsopen = 430;
constexpr long kFsconfig = 431;
constexpr long kFsmount = 432;
constexpr long kMountSetattr = 442;

bool new_file_system() {
  const long context = ::syscall(kFsopen, "tmpfs", 0);
  constexpr int kSetString = 1;
  constexpr int kCreate = 6;
  return context >= 0 && ::syscall(kFsconfig, context, kSetString, "size", "4096", 0) == 0 &&
         ::syscall(kFsconfig, context, kCreate, nullptr, nullptr, 0) == 0 &&
         ::syscall(kFsmount, context, 0, 0) >= 0;
}

bool open_tree(const char* path) { return ::syscall(kOpenTree, AT_FDCWD, path, 1U) >= 0; }

bool move_mount(const char* path) {
  const long tree = ::syscall(kOpenTree, AT_FDCWD, path, 1U /* OPEN_TREE_CLONE */);
  return ::syscall(kMoveMount, tree, "", AT_FDCWD, path, 4U /* F_EMPTY_PATH */) == 0;
}

bool make_writable(const char* path) {
  struct {
    std::uint64_t set, clear, propagation, user_namespace;
  } const attributes = {0, 1 /* MOUNT_ATTR_RDONLY */, 0, 0};
  return ::syscall(kMountSetattr, AT_FDCWD, path, 0, &attributes, sizeof attributes) == 0;
}

bool mount_over(const char* type, const char* path) {
  return ::mount("none", path, type, 0, nullptr) == 0;
}

bool overlay(const char* path) {
  return ::mount("none", path, "overlay", 0, "lowerdir=/usr:/etc") == 0;
}

bool setns_to(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  return ::setns(fd, 0) == 0;
}

// The user namespace above ours, or the one that the mounts belong to.
bool namespace_above(const char* path, unsigned long request) {
  return ::ioctl(::open(path, O_RDONLY | O_CLOEXEC), request) >= 0;
}

bool act(std::string_view verb, const char* path) {
  if (verb == "new_file_system") return new_file_system();
  if (verb == "open_tree") return open_tree(path);
  if (verb == "move_mount") return move_mount(path);
  if (verb == "make_writable") return make_writable(path);
  if (verb == "remount") return ::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0;
  if (verb == "bind") return ::mount("/", path, nullptr, MS_BIND | MS_REC, nullptr) == 0;
  if (verb == "unmount") return ::umount2(path, MNT_DETACH) == 0;
  if (verb == "mount_cgroup") return mount_over("cgroup2", path);
  if (verb == "mount_proc") return mount_over("proc", path);
  if (verb == "mount_tmpfs") return mount_over("tmpfs", path);
  if (verb == "mount_overlay") return overlay(path);
  if (verb == "pivot_root") return ::syscall(SYS_pivot_root, path, path) == 0;
  if (verb == "chroot") return ::chroot(path) == 0;
  if (verb == "setns") return setns_to(path);
  if (verb == "setns_to_descriptor")
    return ::setns(static_cast<int>(misbehave::number(path)), 0) == 0;
  if (verb == "parent_namespace") return namespace_above(path, NS_GET_PARENT);
  if (verb == "owner_namespace") return namespace_above(path, NS_GET_USERNS);
  misbehave::usage("mount_act VERB [PATH]");
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) misbehave::usage("mount_act VERB [PATH]");
  errno = 0;
  misbehave::tell(act(words[1], count > 2 ? words[2] : ""));
}
