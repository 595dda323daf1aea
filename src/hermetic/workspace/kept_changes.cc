#include "hermetic/workspace/kept_changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"

namespace hermetic {
namespace {

Error failed(std::string_view doing, const std::string& path) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(path)), errno);
}

// A program that takes on its owner's powers is a way out as soon as others can start it.
Result<void> clear_set_id(int directory, int depth = 0) {
  if (depth > kDeepestTree)
    return unsupported(
        fmt::format("what was changed lies more than {} directories deep", kDeepestTree),
        "nothing of it is kept");
  for (const std::string& name : TRY(names_in(directory))) {
    struct stat status = {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return failed("look at", name);
    if (S_ISLNK(status.st_mode)) continue;
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 &&
        ::fchmodat(directory, name.c_str(), status.st_mode & 01777U, 0) != 0)
      return failed("set the mode of", name);
    if (!S_ISDIR(status.st_mode)) continue;
    const Unlocked unlocked(directory, name);
    const UniqueFd child = TRY(open_directory(directory, name));
    TRY(clear_set_id(child.get(), depth + 1));
  }
  return {};
}

Result<void> copy_with_marks(const std::string& from, const std::string& to) {
  struct stat status = {};
  if (::lstat(from.c_str(), &status) != 0) return failed("look at", from);
  const Unlocked unlocked(AT_FDCWD, from);
  if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) {
    TRY(copy_tree(AT_FDCWD, from, AT_FDCWD, to));
  } else if (!S_ISDIR(status.st_mode)) {  // a mark, a pipe or a socket
    if (::mknod(to.c_str(), status.st_mode & (S_IFMT | 0777U), 0) != 0) return failed("make", to);
  } else {
    if (::mkdir(to.c_str(), 0700) != 0) return failed("make", to);
    if (is_opaque(from) && ::setxattr(to.c_str(), kOpaqueMark, "y", 1, 0) != 0)
      return failed("mark", to);
    const UniqueFd directory = TRY(open_directory(AT_FDCWD, from));
    for (const std::string& name : TRY(names_in(directory.get())))
      TRY(copy_with_marks(from + "/" + name, to + "/" + name));
  }
  if (!S_ISLNK(status.st_mode) && ::chmod(to.c_str(), status.st_mode & 01777U) != 0)
    return failed("set the mode of", to);
  return {};
}

// Replaces nothing. Those file systems that others serve cannot promise that, as NFS, and refuse;
// there, nothing but an empty directory could be replaced that somebody makes this very moment.
Result<void> give_name(const std::string& copy, const std::string& directory) {
  if (::syscall(SYS_renameat2, AT_FDCWD, copy.c_str(), AT_FDCWD, directory.c_str(),
                RENAME_NOREPLACE) == 0)
    return {};
  if (errno != EINVAL && errno != ENOSYS) return failed("keep the changes in", directory);
  TRY(check_place_for_changes(directory));
  if (::rename(copy.c_str(), directory.c_str()) == 0) return {};
  return failed("keep the changes in", directory);
}

// Under another name until it is whole: a part would be taken for all of it.
Result<void> copy_to_other_file_system(const std::string& upper, const std::string& directory) {
  std::string making = directory + ".XXXXXX";
  if (::mkdtemp(making.data()) == nullptr) return failed("make", making);
  const std::string copy = making + "/changes";
  Result<void> kept = copy_with_marks(upper, copy);
  if (kept) kept = give_name(copy, directory);
  const Result<void> removed = remove_tree(AT_FDCWD, making);
  return kept ? removed : kept;
}

}  // namespace

Result<void> check_place_for_changes(const std::string& directory) {
  struct stat status = {};
  if (::lstat(directory.c_str(), &status) != 0) return check_place_for_file(directory);
  return invalid(fmt::format("'{}' is there already", printable(directory)), "choose another name");
}

Result<void> move_changes(const std::string& upper, const std::string& directory) {
  TRY(check_place_for_changes(directory));
  if (::chmod(upper.c_str(), 0755) != 0) return failed("set the mode of", upper);
  const UniqueFd top = TRY(open_directory(AT_FDCWD, upper));
  TRY(clear_set_id(top.get()));
  if (::rename(upper.c_str(), directory.c_str()) == 0) return {};
  if (errno != EXDEV) return failed("keep the changes in", directory);
  return copy_to_other_file_system(upper, directory);
}

}  // namespace hermetic
