#include "hermetic/spec/mount_table.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

constexpr const char* kMountInfo = "/proc/self/mountinfo";

std::string_view take_field(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

// Blanks, tabs, newlines and backslashes in a path are written as three octal digits.
std::string unescape(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view digits = text.substr(i + 1, 3);
    unsigned value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
    const bool escape = text[i] == '\\' && error == std::errc() && end == text.data() + i + 4;
    result += escape ? static_cast<char>(value) : text[i];
    if (escape) i += 3;
  }
  return result;
}

unsigned long flags_from(std::string_view options) {
  constexpr std::array<std::pair<std::string_view, unsigned long>, 7> kFlags = {
      {{"ro", MS_RDONLY},
       {"nosuid", MS_NOSUID},
       {"nodev", MS_NODEV},
       {"noexec", MS_NOEXEC},
       {"noatime", MS_NOATIME},
       {"nodiratime", MS_NODIRATIME},
       {"relatime", MS_RELATIME}}};
  unsigned long flags = 0;
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    for (const auto& [name, flag] : kFlags)
      if (options.substr(0, end) == name) flags |= flag;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return flags;
}

}  // namespace

Result<MountTable> MountTable::parse(std::string_view mountinfo) {
  MountTable table;
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    Mount mount;
    const std::string_view id = take_field(line);
    std::from_chars(id.data(), id.data() + id.size(), mount.id);
    take_field(line);  // the parent's number
    mount.device = take_field(line);
    mount.root = unescape(take_field(line));
    mount.point = unescape(take_field(line));
    mount.flags = flags_from(take_field(line));
    while (!line.empty() && take_field(line) != "-") {  // how it is shared: any number of fields
    }
    mount.filesystem = unescape(take_field(line));
    if (mount.id == 0 || !mount.point.starts_with('/'))
      return system_error("cannot understand /proc/self/mountinfo", EPROTO);
    // A root that is no path ("net:[4026531840]") belongs to no tree that anyone can declare.
    if (mount.root.starts_with('/')) table.mounts_.push_back(std::move(mount));
  }
  return table;
}

Result<MountTable> MountTable::of_this_process() {
  const UniqueFd fd(::open(kMountInfo, O_RDONLY | O_CLOEXEC));
  if (!fd.is_open())
    return system_error(
        "cannot open /proc/self/mountinfo, which shows whether two paths are one object", errno,
        "mount /proc");
  std::string text;
  std::array<char, 16384> block;
  for (;;) {
    const ssize_t size = ::read(fd.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error("cannot read /proc/self/mountinfo", errno);
    if (size == 0) return parse(text);
    text.append(block.data(), static_cast<std::size_t>(size));
  }
}

const Mount* MountTable::mount_of(std::string_view real_path, std::uint64_t mount_id) const {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts_) {
    if (!is_within(real_path, mount.point)) continue;
    if (mount.id == mount_id) return &mount;
    // Later mounts cover earlier ones at the same point.
    if (best == nullptr || mount.point.size() >= best->point.size()) best = &mount;
  }
  return best;
}

FilesystemPath MountTable::locate(std::string_view real_path, std::uint64_t mount_id) const {
  const Mount* mount = mount_of(real_path, mount_id);
  if (mount == nullptr) return {"", std::string(real_path)};
  return {mount->device, join(mount->root, relative_to(real_path, mount->point))};
}

unsigned long MountTable::flags_of(std::string_view real_path) const {
  const Mount* mount = mount_of(real_path, 0);
  return mount == nullptr ? 0 : mount->flags;
}

std::vector<const Mount*> MountTable::below(std::string_view real_path) const {
  std::vector<const Mount*> found;
  for (const Mount& mount : mounts_)
    if (is_strictly_within(mount.point, real_path)) found.push_back(&mount);
  return found;
}

}  // namespace hermetic
