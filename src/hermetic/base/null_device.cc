#include "hermetic/base/null_device.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

namespace hermetic {
namespace {

constexpr const char* kNullDevice = "/dev/null";
// open_tree(2), 5.2, and mount_setattr(2), 5.12: <linux/mount.h> does not go with <sys/mount.h>.
constexpr unsigned kCloneOfTree = 1;
constexpr std::uint64_t kReadOnlyMount = 1;

UniqueFd read_only_mount_of_device() {
  UniqueFd tree(
      static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, kNullDevice, kCloneOfTree | O_CLOEXEC)));
  const std::array<std::uint64_t, 4> attributes = {kReadOnlyMount, 0, 0, 0};  // set, clear, …
  if (tree.is_open() && ::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH,
                                  attributes.data(), sizeof attributes) != 0)
    tree.reset();
  return tree;
}

}  // namespace

UniqueFd open_null_device(int flags) {
  const UniqueFd mount = read_only_mount_of_device();
  const std::string path =
      mount.is_open() ? "/proc/self/fd/" + std::to_string(mount.get()) : kNullDevice;
  UniqueFd device(::open(path.c_str(), flags | O_CLOEXEC));
  if (!device.is_open()) device = UniqueFd(::open(kNullDevice, flags | O_CLOEXEC));
  return device;
}

}  // namespace hermetic
