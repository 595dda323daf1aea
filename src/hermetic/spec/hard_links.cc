#include "hermetic/spec/hard_links.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Shared {
  std::string path;     // one name of the file inside the output
  nlink_t unexplained;  // links that are not inside the output
};

using Visit = std::function<Result<void>(const std::string& path, const struct stat& status)>;

// Visits the files of one tree; never leaves it, never follows a link.
class LinkSearch {
 public:
  LinkSearch(const Tree& tree, const Visit& visit)
      : tree_(tree),
        visit_(visit),
        set_(PathSet::tree(tree.found.real_path, tree.real_exceptions)) {}

  Result<void> run() {
    const Found& found = tree_.found;
    if (!found.exists() || !found.descriptor) return {};
    const int fd = found.descriptor->get();
    if (found.type == FileType::Directory) {
      UniqueFd directory(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
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
          "hard links are looked for in what is changed in place; remove what lies so deep");
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
    if (errno != 0) return cannot("list", path);
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
  const Visit& visit_;
  PathSet set_;
  std::set<FileId> seen_;
};

Result<void> walk(const Tree& tree, const Visit& visit) { return LinkSearch(tree, visit).run(); }

}  // namespace

Result<void> check_hard_links(const std::vector<Tree>& trees) {
  std::map<FileId, Shared> shared;
  for (const Tree& tree : trees) {
    if (tree.declaration.kind != TreeKind::Output || tree.declaration.publish != Publish::InPlace)
      continue;
    TRY(walk(tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
      if (status.st_nlink < 2) return {};
      const auto [place, inserted] =
          shared.try_emplace({status.st_dev, status.st_ino}, Shared{path, status.st_nlink});
      --place->second.unexplained;
      return {};
    }));
  }
  std::erase_if(shared, [](const auto& entry) { return entry.second.unexplained == 0; });
  if (shared.empty()) return {};

  for (const Tree& tree : trees) {
    if (tree.declaration.kind != TreeKind::Input) continue;
    TRY(walk(tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
      const auto hit = shared.find({status.st_dev, status.st_ino});
      if (hit == shared.end()) return {};
      return invalid(
          fmt::format("input '{}' holds '{}', which is the same file as '{}' in an output "
                      "that is changed in place (a hard link)",
                      printable(tree.declaration.path), printable(path),
                      printable(hit->second.path)),
          "copy one of the two files, or declare the output without in_place",
          tree.declaration.origin);
    }));
  }
  return {};
}

}  // namespace hermetic
