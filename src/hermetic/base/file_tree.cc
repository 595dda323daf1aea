#include "hermetic/base/file_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// Every level of a walk holds a descriptor; deeper trees are cut into pieces, or refused.
constexpr int kDeepest = 200;

Error cannot(std::string_view verb, const std::string& name) {
  return system_error(fmt::format("cannot {} '{}'", verb, printable(name)), errno);
}

// Opens a directory that is to be emptied. The command may have locked it, so it is unlocked first:
// the directory itself, never what a link leads to, and never another file system that is mounted
// there.
Result<UniqueFd> open_to_empty(int parent, const std::string& name) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  // The name of a top may be a path, whose own mounts and links are the caller's.
  if (name.find('/') != std::string::npos) how.resolve = 0;
  const UniqueFd place(
      static_cast<int>(::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof how)));
  if (!place.is_open()) return cannot("remove", name);
  (void)::chmod(fmt::format("/proc/self/fd/{}", place.get()).c_str(), 0700);
  return open_directory(place.get(), ".");
}

// A directory that is not locked any more: the kernel lets nobody but root move others. A name that
// whoever made the tree has taken before is passed over; it goes with the rest.
Result<void> move_up(int directory, const std::string& name, int top, unsigned& moved) {
  for (;;) {
    const std::string place = fmt::format(".hermetic-deep-{}", moved++);
    if (::renameat(directory, name.c_str(), top, place.c_str()) == 0) return {};
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return cannot("remove", name);
  }
}

// Removes what is below `directory`. Directories that lie too deep are moved up to `top`, where the
// next round finds them.
Result<void> empty_directory(int directory, int top, int depth, unsigned& moved) {
  for (const std::string& name : TRY(names_in(directory))) {
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return cannot("remove", name);
    const UniqueFd child = TRY(open_to_empty(directory, name));
    if (depth >= kDeepest) {
      TRY(move_up(directory, name, top, moved));
      continue;
    }
    TRY(empty_directory(child.get(), top, depth + 1, moved));
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      return cannot("remove", name);
  }
  return {};
}

// Some pairs of file systems copy only through us.
Result<void> copy_through_memory(int from, int to, off_t begin, off_t end,
                                 const std::string& name) {
  std::vector<char> block(std::size_t{1} << 16U);
  while (begin < end) {
    const auto wanted = std::min<off_t>(end - begin, static_cast<off_t>(block.size()));
    const ssize_t size = ::pread(from, block.data(), static_cast<std::size_t>(wanted), begin);
    if (size == 0) return {};
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot("read", name);
    for (ssize_t done = 0; done < size;) {
      const ssize_t written =
          ::pwrite(to, block.data() + done, static_cast<std::size_t>(size - done), begin + done);
      if (written < 0 && errno != EINTR) return cannot("write", name);
      if (written > 0) done += written;
    }
    begin += size;
  }
  return {};
}

bool cannot_copy_in_the_kernel(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

Result<void> copy_range(int from, int to, off_t begin, off_t end, const std::string& name) {
  while (begin < end) {
    off_t target = begin;
    const auto size = static_cast<std::size_t>(std::min<off_t>(end - begin, off_t{1} << 30U));
    const ssize_t copied = ::copy_file_range(from, &begin, to, &target, size, 0);
    if (copied == 0) return {};
    if (copied > 0 || errno == EINTR) continue;
    if (!cannot_copy_in_the_kernel(errno)) return cannot("copy", name);
    return copy_through_memory(from, to, begin, end, name);
  }
  return {};
}

// Holes stay holes: what takes no room where it was made takes none where it goes.
Result<void> copy_bytes(int from, int to, off_t size, const std::string& name) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  for (off_t end = 0; end < size;) {
    off_t begin = ::lseek(from, end, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // the rest is a hole
    if (begin < 0) begin = end;              // a file system that does not tell
    end = ::lseek(from, begin, SEEK_HOLE);
    if (end <= begin) end = size;
    TRY(copy_range(from, to, begin, end, name));
  }
  if (::ftruncate(to, size) != 0) return cannot("set the size of", name);
  return {};
}

Result<void> copy_file(int from_parent, const std::string& from, int to_parent,
                       const std::string& to, const struct stat& status) {
  const UniqueFd source(
      ::openat(from_parent, from.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!source.is_open()) return cannot("open", from);
  const UniqueFd target(
      ::openat(to_parent, to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.is_open()) return cannot("make", to);
  TRY(copy_bytes(source.get(), target.get(), status.st_size, from));
  if (::fchmod(target.get(), status.st_mode & 0777) != 0) return cannot("set the mode of", to);
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  if (::futimens(target.get(), times.data()) != 0) return cannot("set the times of", to);
  return {};
}

Result<void> copy_link(int from_parent, const std::string& from, int to_parent,
                       const std::string& to, const struct stat& status) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(from_parent, from.c_str(), text.data(), text.size() - 1);
  if (size < 0) return cannot("read the link", from);
  text[static_cast<std::size_t>(size)] = '\0';
  if (::symlinkat(text.data(), to_parent, to.c_str()) != 0) return cannot("make the link", to);
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  if (::utimensat(to_parent, to.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)
    return cannot("set the times of", to);
  return {};
}

Result<void> copy_entry(int from_parent, const std::string& from, int to_parent,
                        const std::string& to, int depth) {
  struct stat status = {};
  if (::fstatat(from_parent, from.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return cannot("inspect", from);
  if (S_ISLNK(status.st_mode)) return copy_link(from_parent, from, to_parent, to, status);
  if (S_ISREG(status.st_mode)) return copy_file(from_parent, from, to_parent, to, status);
  if (!S_ISDIR(status.st_mode))
    return invalid(fmt::format("'{}' is neither file, link nor directory", printable(from)));
  if (depth >= kDeepest)
    return invalid(
        fmt::format("'{}' lies more than {} directories deep", printable(from), kDeepest));
  if (::mkdirat(to_parent, to.c_str(), 0700) != 0) return cannot("make", to);
  const UniqueFd source = TRY(open_directory(from_parent, from));
  const UniqueFd target = TRY(open_directory(to_parent, to));
  for (const std::string& name : TRY(names_in(source.get())))
    TRY(copy_entry(source.get(), name, target.get(), name, depth + 1));
  if (::fchmod(target.get(), status.st_mode & 0777) != 0) return cannot("set the mode of", to);
  const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
  if (::futimens(target.get(), times.data()) != 0) return cannot("set the times of", to);
  return {};
}

Result<void> remove_once(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return cannot("remove", name);
  const UniqueFd top = TRY(open_to_empty(parent, name));
  unsigned moved = 0;
  // Each round takes off what is not too deep, and the deeper parts that the round before moved up.
  do {
    TRY(empty_directory(top.get(), top.get(), 0, moved));
  } while (!TRY(names_in(top.get())).empty());
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return cannot("remove", name);
  return {};
}

}  // namespace

bool is_too_deep(std::size_t path_bytes, int depth) {
  return depth >= kDeepestTree || path_bytes + 1 + NAME_MAX >= PATH_MAX;
}

bool is_present(const std::string& path) {
  struct statx status = {};
  constexpr int kFlags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  return ::statx(AT_FDCWD, path.c_str(), kFlags, STATX_TYPE, &status) == 0;
}

Result<UniqueFd> open_directory(int parent, const std::string& name) {
  UniqueFd directory(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open()) return cannot("open", name);
  return directory;
}

Result<std::vector<std::string>> names_in(int directory) {
  // A descriptor of its own: the caller's reading position is not ours.
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy.is_open()) return cannot("list", "a directory");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), ::closedir);
  if (!stream) return cannot("list", "a directory");
  (void)copy.release();  // the stream closes it
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return cannot("list", "a directory");
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> remove_tree(int parent, const std::string& name) {
  // What was short for a moment, such as descriptors in a process of many threads, may be there the
  // second time; nobody comes back for a tree that stays.
  if (remove_once(parent, name)) return {};
  return remove_once(parent, name);
}

Result<void> copy_tree(int from_parent, const std::string& from, int to_parent,
                       const std::string& to) {
  return copy_entry(from_parent, from, to_parent, to, 0);
}

}  // namespace hermetic
