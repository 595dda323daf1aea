#include "hermetic/spec/tree_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using FileId = std::pair<dev_t, ino_t>;

// Visits the files of one tree; never leaves it, never follows a link.
class LinkSearch {
 public:
  LinkSearch(const Tree& tree, const VisitFile& visit)
      : tree_(tree),
        visit_(visit),
        set_(PathSet::tree(tree.found.real_path, tree.real_exceptions)) {}

  Result<void> run() {
    const Found& found = tree_.found;
    if (!found.exists() || !found.descriptor) return {};
    const int fd = found.descriptor->get();
    if (found.type == FileType::Directory) {
      UniqueFd directory(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!directory.is_open() && errno == EACCES) return {};  // nor can the command read it
      if (!directory.is_open()) return cannot("open", found.real_path);
      return visit_directory(std::move(directory), found.real_path, 0);
    }
    struct stat status = {};
    if (::fstatat(fd, "", &status, AT_EMPTY_PATH) != 0) return cannot("inspect", found.real_path);
    return visit_(found.real_path, status);
  }

 private:
  static Error cannot(std::string_view verb, const std::string& path) {
    return system_error(fmt::format("cannot {} '{}'", verb, printable(path)), errno);
  }

  Result<void> visit_directory(UniqueFd directory, const std::string& path, int depth) {
    if (depth > kDeepestTree)
      return invalid(
          fmt::format("'{}' lies more than {} directories deep", printable(path), kDeepestTree),
          "hard links are looked for there; remove what lies so deep");
    struct stat status = {};
    if (::fstat(directory.get(), &status) != 0) return cannot("inspect", path);
    // A directory has one name; it comes back only through a bind mount, and then its files would
    // be counted twice.
    if (!seen_.insert({status.st_dev, status.st_ino}).second) return {};
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
    if (!stream) return cannot("list", path);
    const int fd = directory.release();  // the stream closes it
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      const std::string child = join(path, name);
      if (name != "." && name != ".." && set_.contains(child))
        TRY(visit_entry(fd, entry->d_name, child, depth));
    }
    // In /proc, some directories can be opened and not listed.
    if (errno != 0 && errno != EACCES) return cannot("list", path);
    return {};
  }

  Result<void> visit_entry(int directory, const char* name, const std::string& path, int depth) {
    struct stat status = {};
    if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};  // gone meanwhile
      return cannot("inspect", path);
    }
    if (!S_ISDIR(status.st_mode)) return visit_(path, status);
    UniqueFd next(::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next.is_open()) return visit_directory(std::move(next), path, depth + 1);
    if (errno == EACCES) return {};  // the command cannot read it either
    return cannot("open", path);
  }

  const Tree& tree_;
  const VisitFile& visit_;
  PathSet set_;
  std::set<FileId> seen_;
};

}  // namespace

Result<void> visit_files(const Tree& tree, const VisitFile& visit) {
  return LinkSearch(tree, visit).run();
}

}  // namespace hermetic
