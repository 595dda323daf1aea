#include "hermetic/learn/set_aside.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "hermetic/base/path.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;

// A folder beside the tree, on the same file system if that can be; otherwise in it.
std::string make_folder(const std::string& tree) {
  for (const std::string& place : {std::string(parent_of(tree)), tree}) {
    std::string name = join(place, ".hermetic-learn-XXXXXX");
    if (::mkdtemp(name.data()) != nullptr) return name;
  }
  return "";
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
      if (folder.empty()) folder = make_folder(declaration.path);
      if (folder.empty()) break;
      if (folders_.empty() || folders_.back() != folder) folders_.push_back(folder);
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
  for (const std::string& folder : folders_) fs::remove(folder, ignored);
}

}  // namespace hermetic
