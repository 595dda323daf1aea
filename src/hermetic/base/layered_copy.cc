#include "hermetic/base/layered_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"

namespace hermetic {
namespace {

Error failed(std::string_view doing, const std::string& path) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(path)), errno);
}

// The copy belongs to another user than the file, perhaps: it has none of its powers.
constexpr unsigned kKeptMode = 01777;

Result<void> set_mode_and_times(const std::string& path, const struct stat& status) {
  if (::chmod(path.c_str(), status.st_mode & kKeptMode) != 0)
    return failed("set the mode of", path);
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  if (::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0)
    return failed("set the times of", path);
  return {};
}

Result<void> add_file(const std::string& from, const std::string& to, const struct stat& status) {
  const bool has_name_only = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  if (!has_name_only) TRY(copy_tree(AT_FDCWD, from, AT_FDCWD, to));
  if (has_name_only && ::mknod(to.c_str(), status.st_mode & (S_IFMT | 0600U), 0) != 0)
    return failed("make", to);
  return S_ISLNK(status.st_mode) ? Result<void>() : set_mode_and_times(to, status);
}

// Another name of a file that has one in the copy by now: as copies of their own, names could take
// a thousand times the room.
using Names = std::map<std::pair<dev_t, ino_t>, std::string>;
bool takes_other_name(const struct stat& status, const std::string& to, Names& names) {
  if (!S_ISREG(status.st_mode) || status.st_nlink < 2) return false;
  const auto [name, is_first] = names.emplace(std::pair(status.st_dev, status.st_ino), to);
  return !is_first && ::link(name->second.c_str(), to.c_str()) == 0;
}

Result<void> add_layer(const std::string& layer, const std::string& target, Names& names) {
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, layer));
  for (const std::string& name : TRY(names_in(directory.get()))) {
    const std::string from = fmt::format("{}/{}", layer, name);
    const std::string to = fmt::format("{}/{}", target, name);
    struct stat status = {};
    struct stat there = {};
    if (::lstat(from.c_str(), &status) != 0) return failed("look at", from);
    const bool is_there = ::lstat(to.c_str(), &there) == 0;
    const bool joins =
        is_there && S_ISDIR(status.st_mode) && S_ISDIR(there.st_mode) && !is_opaque(from);
    if (!joins) TRY(remove_tree(AT_FDCWD, to));
    if (is_whiteout(status.st_mode, status.st_rdev)) continue;
    if (!S_ISDIR(status.st_mode)) {
      if (!takes_other_name(status, to, names)) TRY(add_file(from, to, status));
      continue;
    }
    if (!joins && ::mkdir(to.c_str(), 0700) != 0) return failed("make", to);
    // The layer below may have closed it, though not to those above.
    if (joins && ::chmod(to.c_str(), 0700) != 0) return failed("open", to);
    TRY(add_layer(from, to, names));
    TRY(set_mode_and_times(to, status));
  }
  return {};
}

bool set_mark(const std::string& path) {
  return ::setxattr(path.c_str(), kOpaqueMark, "y", 1, 0) == 0;
}

void remove_attributes(const std::string& path) {
  std::vector<char> names(std::size_t{64} << 10U);  // XATTR_LIST_MAX
  const ssize_t size = ::listxattr(path.c_str(), names.data(), names.size());
  for (ssize_t begin = 0; begin < size;) {
    const std::string name(names.data() + begin);
    if (name.starts_with("user.")) (void)::removexattr(path.c_str(), name.c_str());
    begin += static_cast<ssize_t>(name.size()) + 1;
  }
}

}  // namespace

bool is_copy(const std::string& upper) {
  char value = 0;
  return ::lgetxattr(std::string(parent_of(upper)).c_str(), kCopiedMark, &value, 1) == 1;
}

bool is_whiteout(unsigned mode, unsigned long device) { return S_ISCHR(mode) && device == 0; }

bool is_opaque(const std::string& directory) {
  char value = 0;
  return ::lgetxattr(directory.c_str(), kOpaqueMark, &value, 1) == 1 && value == 'y';
}

Result<void> mark_as_whole(const std::string& path, int depth) {
  if (is_too_deep(path.size(), depth)) return {};  // who looks does not look there either
  const Unlocked unlocked(AT_FDCWD, path);
  if (!set_mark(path)) {
    // A command may have filled the room for attributes with its own.
    remove_attributes(path);
    if (!set_mark(path))
      return system_error(fmt::format("cannot mark '{}' as a whole", printable(path)), errno,
                          "its file system has no user attributes; choose a directory on another");
  }
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, path));
  for (const std::string& name : TRY(names_in(directory.get()))) {
    struct stat status = {};
    const std::string below = fmt::format("{}/{}", path, name);
    if (::lstat(below.c_str(), &status) != 0) return failed("look at", below);
    if (S_ISDIR(status.st_mode)) TRY(mark_as_whole(below, depth + 1));
  }
  return {};
}

std::size_t shown_layers(const std::vector<std::string>& layers) {
  const auto lowest = std::ranges::find_if(layers, is_opaque);
  return static_cast<std::size_t>(lowest - layers.begin()) + (lowest == layers.end() ? 0 : 1);
}

Result<void> copy_layers(const std::vector<std::string>& layers, const std::string& target) {
  if (::mkdir(target.c_str(), 0755) != 0) return failed("make", target);
  for (std::size_t i = shown_layers(layers); i > 0; --i) {
    Names names;  // those of one layer stay while it is copied
    TRY(add_layer(layers[i - 1], target, names));
  }
  return mark_as_whole(target);
}

Result<void> replace_by_copy(int directory, const std::string& folder,
                             std::vector<std::string> layers, const char* name,
                             const char* making) {
  const std::string upper = fmt::format("{}/{}", folder, name);
  const bool has_changes = is_present(upper);
  if (has_changes) layers.insert(layers.begin(), upper);
  TRY(remove_tree(directory, making));
  TRY(copy_layers(layers, fmt::format("{}/{}", folder, making)));
  if (::syscall(SYS_renameat2, directory, making, directory, name,
                has_changes ? RENAME_EXCHANGE : 0U) != 0)
    return failed("keep the copy in", folder);
  // Not before: without the mark a copy is copied once more, but changes with it would be all.
  if (::fsetxattr(directory, kCopiedMark, "y", 1, 0) != 0) return failed("mark", folder);
  return remove_tree(directory, making);
}

}  // namespace hermetic
