#include "hermetic/spec/hard_links.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Shared {
  std::string path;     // one name of the file inside the output
  nlink_t unexplained;  // links that are not inside the output
};

using Visit = std::function<Result<void>(const std::string& path, const struct stat& status)>;

// Calls `visit` for each file below the open directory; never leaves it, never follows a link.
Result<void> walk_directory(UniqueFd directory, const std::string& path, const PathSet& set,
                            const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
  if (!stream) return system_error(fmt::format("cannot list '{}'", printable(path)), errno);
  const int fd = directory.release();  // the stream closes it
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string child = join(path, name);
    if (!set.contains(child)) continue;
    struct stat status = {};
    if (::fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // gone meanwhile
      return system_error(fmt::format("cannot inspect '{}'", printable(child)), errno);
    }
    if (S_ISDIR(status.st_mode)) {
      UniqueFd next(::openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!next.is_open() && errno == EACCES) continue;  // the command cannot read it either
      if (!next.is_open())
        return system_error(fmt::format("cannot open '{}'", printable(child)), errno);
      TRY(walk_directory(std::move(next), child, set, visit));
    } else {
      TRY(visit(child, status));
    }
  }
  if (errno != 0) return system_error(fmt::format("cannot list '{}'", printable(path)), errno);
  return {};
}

Result<void> walk(const Tree& tree, const Visit& visit) {
  if (!tree.found.exists() || !tree.found.descriptor) return {};
  const PathSet set = PathSet::tree(tree.found.real_path, tree.real_exceptions);
  const int fd = tree.found.descriptor->get();
  if (tree.found.type == FileType::Directory) {
    UniqueFd directory(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.is_open())
      return system_error(fmt::format("cannot open '{}'", printable(tree.found.real_path)), errno);
    return walk_directory(std::move(directory), tree.found.real_path, set, visit);
  }
  struct stat status = {};
  if (::fstatat(fd, "", &status, AT_EMPTY_PATH) != 0)
    return system_error(fmt::format("cannot inspect '{}'", printable(tree.found.real_path)), errno);
  return visit(tree.found.real_path, status);
}

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
