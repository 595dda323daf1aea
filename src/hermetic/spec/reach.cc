#include "hermetic/spec/reach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/layers.h"
#include "hermetic/spec/mount_table.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/shown_parts.h"
#include "hermetic/spec/tree_files.h"

namespace hermetic {

struct Reach::Regions {
  MountTable mounts;
  std::vector<Tree> trees;  // what `read` and `written` point to
  ShownParts read;
  ShownParts written;
};

namespace {

bool is_written(const Tree& tree) { return tree.declaration.kind == TreeKind::Output; }

// Staged outputs start without what is at their destinations.
bool is_read(const Tree& tree) {
  return tree.found.exists() && (!is_written(tree) || tree.declaration.publish == Publish::InPlace);
}

// The name that `region` gives to `path`, which lies in its file system.
std::string name_in(const Region& region, const std::string& path) {
  const std::string root = region.paths.witness().value_or(path);
  return is_within(path, root) ? join(region.name, relative_to(path, root)) : region.name;
}

}  // namespace

Reach::Reach(std::unique_ptr<Regions> regions) : regions_(std::move(regions)) {}
Reach::Reach(Reach&&) noexcept = default;
Reach& Reach::operator=(Reach&&) noexcept = default;
Reach::~Reach() = default;

Result<Reach> Reach::of(const Spec& spec) {
  auto regions = std::make_unique<Regions>(Regions {
    .mounts = TRY(MountTable::of_this_process())
    , .trees = {}, .read = {}, .written = {}
  });
  // A temp without layers holds no object of the host.
  for (Tree& tree : with_layers(spec.trees())) {
    hide_built_in(tree);
    regions->trees.push_back(std::move(tree));
  }
  for (const Tree& tree : regions->trees) {
    if (is_read(tree)) add_shown_parts(tree, regions->mounts, regions->read);
    if (is_written(tree)) add_shown_parts(tree, regions->mounts, regions->written);
  }
  // While a layer is mounted, the kernel does not say what the command sees of a change to it.
  for (const Tree& temp : spec.trees())
    for (const Found& layer : temp.over)
      for (const Tree& tree : regions->trees)
        if (tree.found.real_path == layer.real_path && tree.found.inode == layer.inode)
          add_shown_parts(tree, regions->mounts, regions->written);
  return Reach(std::move(regions));
}

std::optional<Reach::Way> Reach::to_write(const Found& place, Extent extent) const {
  const FilesystemPath at = place_of(place, regions_->mounts);
  const auto same_device = regions_->written.find(at.device);
  if (same_device == regions_->written.end()) return std::nullopt;
  for (const Region& region : same_device->second) {
    const auto root = region.paths.witness();
    if (!root) continue;
    const bool is_inside = region.paths.contains(at.path);
    const bool lies_in_it = extent == Extent::WithWhatLiesInIt && is_within(*root, at.path);
    if (is_inside || lies_in_it)
      return Way{.through = describe(region.tree->declaration),
                 .name = name_in(region, at.path),
                 .is_inside = is_inside};
  }
  return std::nullopt;
}

Result<std::optional<Reach::Way>> Reach::to_write_into(const Found& object) const {
  std::optional<Way> way = to_write(object, Extent::Itself);
  if (way) return way;
  return to_find(object, true);
}

Result<std::optional<Reach::Way>> Reach::to_read(const Found& object) const {
  const FilesystemPath at = place_of(object, regions_->mounts);
  if (const auto same_device = regions_->read.find(at.device); same_device != regions_->read.end())
    for (const Region& region : same_device->second)
      if (region.paths.contains(at.path))
        return std::optional<Way>(
            {.through = describe(region.tree->declaration), .name = name_in(region, at.path)});
  return to_find(object, false);
}

// Under the name of another hard link.
Result<std::optional<Reach::Way>> Reach::to_find(const Found& object, bool written) const {
  struct stat wanted = {};
  if (!object.descriptor || ::fstatat(object.descriptor->get(), "", &wanted, AT_EMPTY_PATH) != 0)
    return system_error(fmt::format("cannot look at '{}'", printable(object.real_path)), errno);
  std::optional<Way> way;
  if (S_ISDIR(wanted.st_mode) || wanted.st_nlink < 2) return way;
  for (const Tree& tree : regions_->trees) {
    if (way || !is_read(tree) || (written && !is_written(tree))) continue;
    TRY(visit_files(tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
      if (status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino)
        way = Way{.through = describe(tree.declaration), .name = path};
      return {};
    }));
  }
  return way;
}

}  // namespace hermetic
