#include "hermetic/spec/place.h"

#include <algorithm>

#include "hermetic/spec/builtin_view.h"

namespace hermetic {
namespace {

void except(Tree& tree, std::string inside, std::string real_path) {
  if (std::ranges::find(tree.holes, inside) != tree.holes.end()) return;
  tree.holes.push_back(std::move(inside));
  tree.real_exceptions.push_back(std::move(real_path));
}

}  // namespace

std::string host_name(const Tree& tree, std::string_view inside) {
  return join(tree.found.real_path, relative_to(inside, tree.place));
}

std::string inside_name(const Tree& tree, std::string_view real_path) {
  return join(tree.place, relative_to(real_path, tree.found.real_path));
}

void hide_built_in(Tree& tree) {
  if (tree.declaration.kind != TreeKind::Input) return;
  for (const std::string_view reserved : {kDevices, kProcesses, kSystem, kTemporary}) {
    if (is_strictly_within(reserved, tree.place))
      except(tree, std::string(reserved), host_name(tree, reserved));
    if (is_strictly_within(reserved, tree.found.real_path))
      except(tree, inside_name(tree, reserved), std::string(reserved));
  }
}

bool is_root_of_its_own(const Tree& tree) {
  return tree.place == "/" && !tree.declaration.at.empty();
}

bool stands_on(const Tree& tree, const Tree& root) {
  return root.declaration.at == "/" && declared_place(tree.declaration) != "/" &&
         (root.declaration.kind != TreeKind::Input || tree.declaration.kind != TreeKind::Input);
}

void make_room(std::vector<Tree>& trees) {
  for (Tree& root : trees) {
    if (!is_root_of_its_own(root)) continue;
    for (const Tree& tree : trees)
      if (stands_on(tree, root)) except(root, tree.place, host_name(root, tree.place));
  }
}

bool is_repeated(const Tree& inner, const Tree& outer) {
  return inner.declaration.kind == TreeKind::Input && outer.declaration.kind == TreeKind::Input &&
         host_name(outer, inner.place) == inner.found.real_path;
}

}  // namespace hermetic
