#include "hermetic/spec/disjoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/spec/hard_links.h"
#include "hermetic/spec/mount_table.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/shown_parts.h"

namespace hermetic {
namespace {

// Inputs may repeat each other; everything else belongs to exactly one declaration.
bool may_overlap(const Tree& a, const Tree& b) {
  return a.declaration.kind == TreeKind::Input && b.declaration.kind == TreeKind::Input;
}

enum class Through { Nothing, SymbolicLink, BindMount };

std::string_view words_for(Through through) {
  switch (through) {
    case Through::Nothing: return "";
    case Through::SymbolicLink: return " through a symbolic link";
    case Through::BindMount: return " through a bind mount";
  }
  return "";
}

// Where two trees meet. Without `at`, names inside are the host's.
enum class Space { Inside, Host };

std::string_view words_for(Space space, const Declaration& a, const Declaration& b) {
  if (a.at.empty() && b.at.empty()) return "";
  return space == Space::Inside ? " inside" : " on the host";
}

// `inner` is the root of the region that lies within the other.
std::string remedy(const Region& outer, const Region& inner, Through through) {
  const Declaration& above = outer.tree->declaration;
  const Declaration& below = inner.tree->declaration;
  if (through == Through::BindMount)
    return "declare one of them elsewhere; findmnt lists the mounts";
  const std::string part = join(declared_place(above), relative_to(inner.name, outer.name));
  if (inner.name == outer.name)
    return through == Through::Nothing ? "declare it once" : "declare one of them elsewhere";
  if (above.kind == below.kind)
    return fmt::format("leave '{}' out: '{}' covers it", printable(below.path),
                       printable(above.path));
  return fmt::format("carve it out: except '{}' from the {} '{}'", printable(part),
                     to_string(above.kind), printable(above.path));
}

Error collision(const Region& outer, const Region& inner, const std::string& inner_root,
                Through through, Space space) {
  const std::string outer_root = *outer.paths.witness();
  const std::string other_name = join(outer.name, relative_to(inner_root, outer_root));
  const std::string both =
      other_name == inner.name
          ? fmt::format("both hold '{}'", printable(inner.name))
          : fmt::format("'{}' is '{}'", printable(other_name), printable(inner.name));
  const bool in_order = outer.tree <= inner.tree;  // name first what was declared first
  const Declaration& first = (in_order ? outer : inner).tree->declaration;
  const Declaration& second = (in_order ? inner : outer).tree->declaration;
  return invalid(fmt::format("{} and {} overlap{}{}: {}", describe(first), describe(second),
                             words_for(space, first, second), words_for(through), both),
                 remedy(outer, inner, through), second.origin);
}

// Two trees with exceptions meet only if the root of one is in the other, so each asks for those
// above it: many declarations cost no more than their depths.
Result<void> check_pairs(const std::vector<Region>& regions, Through through, Space space) {
  PathMap<std::vector<const Region*>> by_root;
  for (const Region& region : regions)
    if (const auto root = region.paths.witness()) by_root.slot(*root).push_back(&region);

  for (const Region& region : regions) {
    const auto root = region.paths.witness();
    if (!root) continue;
    const Region* other = nullptr;
    by_root.for_each_above(*root, [&](const std::vector<const Region*>& above) {
      for (const Region* candidate : above)
        if (other == nullptr && candidate->tree != region.tree &&
            !may_overlap(*candidate->tree, *region.tree) && candidate->paths.contains(*root))
          other = candidate;
    });
    if (other != nullptr) return collision(*other, region, *root, through, space);
  }
  return {};
}

std::vector<Region> by_place(const std::vector<Tree>& trees) {
  std::vector<Region> regions;
  for (const Tree& tree : trees)
    regions.push_back({&tree, PathSet::tree(tree.place, tree.holes), tree.place});
  return regions;
}

// A temp is a private directory under a borrowed name: no object of the host is in it.
std::vector<Region> by_real_path(const std::vector<Tree>& trees) {
  std::vector<Region> regions;
  for (const Tree& tree : trees)
    if (tree.declaration.kind != TreeKind::Temp)
      regions.push_back(
          {&tree, PathSet::tree(tree.found.real_path, tree.real_exceptions), tree.found.real_path});
  return regions;
}

// Of two inputs at one place only one could be seen, unless they are the same.
Result<void> check_places_unique(const std::vector<Tree>& trees) {
  PathMap<const Tree*> taken;
  for (const Tree& tree : trees) {
    const Tree*& first = taken.slot(tree.place);
    if (first == nullptr) first = &tree;
    if (first->found.real_path != tree.found.real_path)
      return invalid(
          fmt::format("{} and {} both stand at '{}' inside", describe(first->declaration),
                      describe(tree.declaration), printable(tree.place)),
          "place one of them elsewhere with 'at'", tree.declaration.origin);
  }
  return {};
}

}  // namespace

Result<void> check_names_disjoint(const std::vector<Tree>& trees) {
  std::map<std::pair<TreeKind, std::string_view>, const Tree*> seen;
  std::vector<Region> regions;
  for (const Tree& tree : trees) {
    const std::string& place = declared_place(tree.declaration);
    const auto [first, inserted] = seen.try_emplace({tree.declaration.kind, place}, &tree);
    if (!inserted)
      return invalid(
          fmt::format("{} and {} declare the same tree '{}'", describe(first->second->declaration),
                      describe(tree.declaration), printable(place)),
          "declare it once", tree.declaration.origin);
    std::vector<std::string> exceptions = tree.declaration.exceptions;
    for (const Tree& other : place == "/" ? std::span(trees) : std::span<const Tree>())
      if (stands_on(other, tree)) exceptions.push_back(declared_place(other.declaration));
    regions.push_back({&tree, PathSet::tree(place, exceptions), place});
  }
  return check_pairs(regions, Through::Nothing, Space::Inside);
}

Result<void> check_real_paths_disjoint(const std::vector<Tree>& trees) {
  const bool same = std::all_of(trees.begin(), trees.end(), [](const Tree& tree) {
    return tree.place == declared_place(tree.declaration);
  });
  if (same) return {};  // nothing else than the names
  return check_pairs(by_place(trees), Through::SymbolicLink, Space::Inside);
}

Result<void> check_placed_trees(const std::vector<Tree>& trees) {
  const bool any =
      std::ranges::any_of(trees, [](const Tree& tree) { return !tree.declaration.at.empty(); });
  if (!any) return {};  // names inside are the host's
  TRY(check_places_unique(trees));
  return check_host_trees_disjoint(trees);
}

Result<void> check_host_trees_disjoint(const std::vector<Tree>& trees) {
  return check_pairs(by_real_path(trees), Through::Nothing, Space::Host);
}

Result<void> check_objects_disjoint(const std::vector<Tree>& trees) {
  bool has_output = false;
  for (const Tree& tree : trees)
    has_output = has_output || tree.declaration.kind == TreeKind::Output;
  if (!has_output) return {};  // nothing of the host is ever written

  const MountTable mounts = TRY(MountTable::of_this_process());
  std::map<std::string, std::vector<Region>> by_device;
  for (const Tree& tree : trees)
    if (tree.declaration.kind != TreeKind::Temp) add_shown_parts(tree, mounts, by_device);
  for (const auto& [device, regions] : by_device)
    TRY(check_pairs(regions, Through::BindMount, Space::Host));
  return check_hard_links(trees);
}

}  // namespace hermetic
