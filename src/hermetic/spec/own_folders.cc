#include "hermetic/spec/own_folders.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/current_directory.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/mount_table.h"
#include "hermetic/spec/shown_parts.h"

namespace hermetic {
namespace {

// A tree of the host that a command writes.
struct Written {
  Tree tree;
  bool changes = false;  // the place for the changes of a temp
};

struct OwnFolder {
  enum class Inside {
    Allowed,       // many keep their own things there
    ChangesAlone,  // trees of the cache are made there, each in a folder of its own
    Refused,
  };
  std::string path;
  FilesystemPath place;
  Inside inside;
};

std::vector<Written> written_trees(const std::vector<Tree>& trees) {
  std::vector<Written> written;
  for (const Tree& tree : trees) {
    if (tree.declaration.kind == TreeKind::Output) written.push_back({.tree = tree});
    if (!tree.changes) continue;
    Tree place;
    place.declaration = tree.declaration;
    place.found = *tree.changes;
    written.push_back({.tree = std::move(place), .changes = true});
  }
  return written;
}

// What cannot be looked up cannot be used by a later run of this user either.
std::vector<OwnFolder> own_folders(const MountTable& mounts) {
  using Inside = OwnFolder::Inside;
  std::vector<OwnFolder> folders;
  const auto add = [&](const std::string& path, Inside inside) {
    if (const Result<Found> found = look_up_on_host(path); found)
      folders.push_back({found->real_path, place_of(*found, mounts), inside});
  };
  for (const char* folder : kTemporaryFolders) add(folder, Inside::Allowed);
  const Result<std::string> cache = absolute_path(usual_cache_path());
  if (!cache) return folders;
  add(*cache, Inside::ChangesAlone);
  // These say which folders of runs are to be removed, and which tree is which snapshot.
  for (const char* part : {"journals", "snapshots"}) add(join(*cache, part), Inside::Refused);
  return folders;
}

bool shows(const ShownParts& parts, const FilesystemPath& place) {
  const auto same_device = parts.find(place.device);
  return same_device != parts.end() &&
         std::ranges::any_of(same_device->second, [&](const Region& region) {
           return region.paths.contains(place.path);
         });
}

bool is_refused_inside(const Written& written, const FilesystemPath& place,
                       const OwnFolder& folder) {
  if (place.device != folder.place.device || !is_strictly_within(place.path, folder.place.path))
    return false;
  switch (folder.inside) {
    case OwnFolder::Inside::Allowed:
      return parent_of(place.path) == folder.place.path &&
             last_component(place.path).starts_with(kOwnNames);
    case OwnFolder::Inside::ChangesAlone: return !written.changes;
    case OwnFolder::Inside::Refused: return true;
  }
  return true;
}

Error reached(const Written& written, const OwnFolder& folder) {
  return invalid(
      fmt::format("{}{} would be written where hermetic keeps what later runs believe: '{}'",
                  written.changes ? "the changes of " : "", describe(written.tree.declaration),
                  printable(folder.path)),
      written.changes ? "keep them in another directory"
                      : fmt::format("declare another directory, or one in it, or except '{}'",
                                    printable(folder.path)),
      written.tree.declaration.origin);
}

}  // namespace

Result<void> check_own_folders(const std::vector<Tree>& trees) {
  const std::vector<Written> all = written_trees(trees);
  if (all.empty()) return {};
  const MountTable mounts = TRY(MountTable::of_this_process());
  const std::vector<OwnFolder> folders = own_folders(mounts);
  for (const Written& written : all) {
    ShownParts parts;
    add_shown_parts(written.tree, mounts, parts);
    const FilesystemPath place = place_of(written.tree.found, mounts);
    for (const OwnFolder& folder : folders)
      if (shows(parts, folder.place) || is_refused_inside(written, place, folder))
        return reached(written, folder);
  }
  return {};
}

}  // namespace hermetic
