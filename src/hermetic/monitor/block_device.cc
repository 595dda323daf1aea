#include "hermetic/monitor/block_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "hermetic/base/unique_fd.h"
#include "hermetic/monitor/group_files.h"

namespace hermetic {

bool is_without_disk(std::string_view filesystem) {
  static constexpr std::array<std::string_view, 16> kKinds = {
      "bpf",       "cgroup", "cgroup2", "configfs", "debugfs", "devpts",     "devtmpfs", "efivarfs",
      "hugetlbfs", "mqueue", "proc",    "pstore",   "ramfs",   "securityfs", "sysfs",    "tmpfs"};
  return std::find(kKinds.begin(), kKinds.end(), filesystem) != kKinds.end();
}

bool is_written_for_its_writer(std::string_view filesystem) {
  static constexpr std::array<std::string_view, 5> kKinds = {"ext2", "ext3", "ext4", "f2fs", "xfs"};
  return std::find(kKinds.begin(), kKinds.end(), filesystem) != kKinds.end();
}

Result<std::string> whole_disk(const std::string& device, const std::string& sys) {
  const std::string path = fmt::format("{}/dev/block/{}", sys, device);
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open())
    return system_error(fmt::format("the device {} is no block device", device), errno);
  // What the link leads to lies in the folder of the disk.
  const bool is_part = ::faccessat(folder.get(), "partition", F_OK, 0) == 0;
  const std::string text = read_group_file(folder.get(), is_part ? "../dev" : "dev");
  std::string_view rest = text;
  const std::string_view number = take_line(rest);
  if (number.find(':') == std::string_view::npos)
    return system_error(fmt::format("cannot tell the disk of the device {}", device), ENODEV);
  return std::string(number);
}

}  // namespace hermetic
