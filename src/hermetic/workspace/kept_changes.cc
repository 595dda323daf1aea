#include "hermetic/workspace/kept_changes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "hermetic/base/entries.h"
#include "hermetic/base/file_powers.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"
#include "hermetic/places/private_folder.h"

namespace hermetic {
namespace {

Error failed(std::string_view doing, const std::string& path) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(path)), errno);
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
// Returns an errno.
Result<int> give_name(int from, const std::string& tree, const OwnPlace& place) {
  const std::string name(place.name());
  const int os_error = rename_at(from, tree, place.directory(), name, Renaming::Fresh);
  if (os_error != EINVAL && os_error != ENOSYS) return os_error;
  const bool is_there = TRY(exists_at(place.directory(), name));
  if (is_there) return EEXIST;
  return ::renameat(from, tree.c_str(), place.directory(), name.c_str()) == 0 ? 0 : errno;
}

// In a private folder until it is whole: a part would be taken for all of it.
Result<int> copy_to_other_file_system(const std::string& upper, const OwnPlace& place) {
  constexpr const char* kWhole = "changes";
  constexpr std::string_view kKind = "changes-";
  const std::string above = TRY(real_path_of(place.directory()));
  (void)remove_abandoned_folders(place.directory(), above, kKind);
  const auto fill = [&](const PrivateFolder& made) {
    const std::string held = fmt::format("/proc/self/fd/{}/{}", made.descriptor.get(), kWhole);
    return copy_with_marks(upper, held);
  };
  const PrivateFolder making = TRY(make_private_folder(place.directory(), above, kKind, fill));
  Result<int> kept = give_name(making.descriptor.get(), kWhole, place);
  TRY(remove_tree(place.directory(), std::string(last_component(making.path))));
  return kept;
}

// A tree of what has changed. Directories get their modes in the end, when nothing more comes to
// them.
class Gathering {
 public:
  Gathering(const std::string& upper, const std::string& target) : upper_(upper), target_(target) {}

  // Parents first.
  Result<void> add(const Change& change, std::size_t begin = 0) {
    const std::size_t end = change.path.find('/', begin);
    if (end == std::string::npos) return add_itself(change);
    const std::string above = change.path.substr(0, end);
    const Unlocked unlocked(AT_FDCWD, upper_ + "/" + above);
    if (!TRY(has_directory(above))) return {};  // it is gone with all that was in it
    return add(change, end + 1);
  }

  Result<void> finish() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made)
      if (::chmod(made->path.c_str(), made->mode & 01777U) != 0)
        return failed("set the mode of", made->path);
    return {};
  }

 private:
  struct Made {
    std::string path;
    mode_t mode;
  };

  // Makes it, unless something else has its name.
  Result<bool> has_directory(const std::string& path) {
    struct stat status = {};
    const std::string to = target_ + "/" + path;
    if (::lstat(to.c_str(), &status) == 0) return S_ISDIR(status.st_mode);
    if (::lstat((upper_ + "/" + path).c_str(), &status) != 0) return failed("look at", path);
    if (::mkdir(to.c_str(), 0700) != 0) return failed("make", to);
    made_.push_back({.path = to, .mode = status.st_mode});
    return true;
  }

  Result<void> add_itself(const Change& change) {
    if (change.unlisted)
      return unsupported(
          fmt::format("'{}' lies too deep, or too much was changed", printable(change.path)),
          "nothing of it is kept");
    const std::string to = target_ + "/" + change.path;
    if (change.kind == Change::Kind::Removed)
      return ::mknod(to.c_str(), S_IFCHR, 0) == 0 ? Result<void>() : failed("make", to);
    if (change.type != "directory") return copy_with_marks(upper_ + "/" + change.path, to);
    (void)TRY(has_directory(change.path));
    return {};
  }

  const std::string& upper_;
  const std::string& target_;
  std::vector<Made> made_;
};

}  // namespace

Result<void> move_changes(const std::string& upper, const OwnPlace& place) {
  const auto cannot_keep = [&](int os_error) {
    return system_error(fmt::format("cannot keep the changes in '{}'", printable(place.path())),
                        os_error);
  };
  if (place.holds() != OwnPlace::Holds::Nothing)
    return invalid(fmt::format("'{}' is there already", printable(place.path())),
                   "choose another name");
  TRY(place.check_for_folder());
  if (::chmod(upper.c_str(), 0755) != 0) return failed("set the mode of", upper);
  const UniqueFd top = TRY(open_directory(AT_FDCWD, upper));
  // A program that takes on its owner's powers is a way out as soon as others can start it.
  TRY(clear_powers_in(top.get()));
  int os_error = TRY(give_name(AT_FDCWD, upper, place));
  if (os_error == 0) return {};
  if (os_error != EXDEV) return cannot_keep(os_error);
  os_error = TRY(copy_to_other_file_system(upper, place));
  if (os_error != 0) return cannot_keep(os_error);
  return remove_tree(AT_FDCWD, upper);
}

Result<void> copy_changes(const std::string& upper, const std::vector<Change>& changes,
                          const std::string& target) {
  if (::mkdir(target.c_str(), 0755) != 0) return failed("make", target);
  Gathering gathering(upper, target);
  for (const Change& change : changes) TRY(gathering.add(change));
  return gathering.finish();
}

}  // namespace hermetic
