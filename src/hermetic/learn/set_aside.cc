#include "hermetic/learn/set_aside.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "hermetic/base/path.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInside = "aside";

// A folder beside the tree, on the same file system if that can be; otherwise in it. If we are
// killed, hermetic gc removes it: the command makes again what was put there.
std::optional<PrivateFolder> make_folder(const std::string& tree) {
  const FillFolder fill = [](const PrivateFolder& folder) -> Result<void> {
    if (::mkdirat(folder.descriptor.get(), kInside, 0700) == 0) return {};
    return system_error("cannot make a directory for what is set aside", errno);
  };
  for (const std::string& place : {std::string(parent_of(tree)), tree})
    if (Result<PrivateFolder> folder = make_private_folder(place, fill); folder)
      return std::move(*folder);
  return std::nullopt;
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

}  // namespace

SetAside::SetAside(const Observation& observation, const Learned& learned) {
  for (const LearnedTree& tree : learned.trees) {
    const Declaration& declaration = tree.declaration;
    if (declaration.kind != TreeKind::Output || declaration.publish != Publish::InPlace) continue;
    std::string folder;
    std::string last;
    for (const SeenPath& seen : observation.paths) {
      if (!seen.written || !seen.absent_before || !is_strictly_within(seen.path, declaration.path))
        continue;
      if (!exists(seen.path) || (!last.empty() && is_within(seen.path, last))) continue;
      if (folder.empty()) {
        std::optional<PrivateFolder> made = make_folder(declaration.path);
        if (!made) break;
        folder = join(made->path, kInside);
        folders_.push_back(std::move(*made));
      }
      const std::string to = join(folder, std::to_string(moved_.size()));
      std::error_code error;
      fs::rename(seen.path, to, error);
      if (error) continue;
      moved_.push_back({seen.path, to});
      last = seen.path;
    }
  }
}

SetAside::~SetAside() {
  std::error_code ignored;
  for (const Moved& moved : moved_) {
    if (exists(moved.from))
      fs::remove_all(moved.to, ignored);
    else
      fs::rename(moved.to, moved.from, ignored);
  }
  for (const PrivateFolder& folder : folders_) {
    fs::remove(join(folder.path, kInside), ignored);
    fs::remove(folder.path, ignored);
  }
}

}  // namespace hermetic
