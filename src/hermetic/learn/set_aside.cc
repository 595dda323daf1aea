#include "hermetic/learn/set_aside.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "hermetic/base/path.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInside = "aside";

// Named and locked like the folders of outputs/private_folder.h, so that hermetic gc knows what was
// left by one who was killed: the command makes again what was put there.
std::optional<std::pair<std::string, UniqueFd>> make_locked(const std::string& place) {
  std::string name = join(place, fmt::format(".hermetic-{}-XXXXXX", ::geteuid()));
  if (::mkdtemp(name.data()) == nullptr) return std::nullopt;
  UniqueFd folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // Whoever has locked it before us is about to remove it.
  if (folder.is_open() && (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
      ::mkdirat(folder.get(), kInside, 0700) == 0)
    return std::pair(std::move(name), std::move(folder));
  ::rmdir(name.c_str());
  return std::nullopt;
}

// A folder beside the tree, on the same file system if that can be; otherwise in it.
std::optional<std::pair<std::string, UniqueFd>> make_folder(const std::string& tree) {
  for (const std::string& place : {std::string(parent_of(tree)), tree})
    if (auto folder = make_locked(place); folder) return folder;
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
    if (declaration.kind == TreeKind::Output && declaration.publish == Publish::InPlace)
      move_results(observation, declaration.path);
  }
}

void SetAside::move_results(const Observation& observation, const std::string& tree) {
  std::string folder;
  std::string last;
  for (const SeenPath& seen : observation.paths) {
    if (!seen.written || !seen.absent_before || !is_strictly_within(seen.path, tree)) continue;
    if (!exists(seen.path) || (!last.empty() && is_within(seen.path, last))) continue;
    if (folder.empty()) {
      auto made = make_folder(tree);
      if (!made) return;
      folder = join(made->first, kInside);
      folders_.push_back({std::move(made->first), std::move(made->second)});
    }
    const std::string to = join(folder, std::to_string(moved_.size()));
    std::error_code error;
    fs::rename(seen.path, to, error);
    if (error) continue;
    moved_.push_back({seen.path, to});
    last = seen.path;
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
  for (const Folder& folder : folders_) {
    fs::remove(join(folder.path, kInside), ignored);
    fs::remove(folder.path, ignored);
  }
}

}  // namespace hermetic
