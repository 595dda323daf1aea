#include "hermetic/spec/shown_parts.h"

#include <fmt/format.h>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// What `tree` shows through a mount (or its own part of one) whose root `place` stands at `name`.
// Exceptions are names too: the same object under another name is not excepted.
Region shown_at(const Tree& tree, const std::string& name, const std::string& place) {
  std::vector<std::string> exceptions;
  for (const std::string& exception : tree.real_exceptions) {
    if (is_within(name, exception)) return {&tree, {}, name};
    if (is_within(exception, name)) exceptions.push_back(join(place, relative_to(exception, name)));
  }
  return {&tree, PathSet::tree(place, exceptions), name};
}

}  // namespace

std::string describe(const Declaration& declaration) {
  std::string text =
      fmt::format("{} '{}'", to_string(declaration.kind), printable(declaration.path));
  if (!declaration.at.empty() && declaration.kind != TreeKind::Temp)
    text += fmt::format(" at '{}'", printable(declaration.at));
  if (const std::string where = to_string(declaration.origin); !where.empty())
    text += fmt::format(" ({})", where);
  return text;
}

FilesystemPath place_of(const Found& found, const MountTable& mounts) {
  FilesystemPath place = mounts.locate(found.existing_path, found.mount_id);
  if (!found.exists())
    place.path = join(place.path, relative_to(found.real_path, found.existing_path));
  return place;
}

void add_shown_parts(const Tree& tree, const MountTable& mounts, ShownParts& regions) {
  const Found& found = tree.found;
  const FilesystemPath own = place_of(found, mounts);
  regions[own.device].push_back(shown_at(tree, found.real_path, own.path));
  for (const Mount* mount : mounts.below(found.real_path))
    regions[mount->device].push_back(shown_at(tree, mount->point, mount->root));
}

}  // namespace hermetic
