#include "hermetic/spec/hard_links.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/spec/tree_files.h"

namespace hermetic {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Shared {
  std::string path;     // one name of the file inside the output
  nlink_t unexplained;  // links that are not inside the output
};

}  // namespace

Result<void> check_hard_links(const std::vector<Tree>& trees) {
  std::map<FileId, Shared> shared;
  for (const Tree& tree : trees) {
    if (tree.declaration.kind != TreeKind::Output || tree.declaration.publish != Publish::InPlace)
      continue;
    TRY(visit_files(tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
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
    TRY(visit_files(tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
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
