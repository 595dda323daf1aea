#include "hermetic/spec/layers.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/disjoint.h"

namespace hermetic {
namespace {

// More than anyone needs, and less than what fits into the page that the kernel takes them from.
constexpr std::size_t kMostLayers = 64;

Result<std::string> normal_layer(const std::string& text, const Declaration& declaration) {
  Result<std::string> normal = normal_path(text);
  if (normal) return normal;
  Error error = std::move(normal).error();
  error.origin = declaration.origin;
  return error;
}

Result<Found> look_up_directory(const std::string& path, const Declaration& declaration,
                                const Lookup& lookup) {
  Result<Found> found = lookup(path);
  if (!found) {
    Error error = std::move(found).error();
    if (error.origin == Origin{}) error.origin = declaration.origin;
    return error;
  }
  if (found->exists() && found->type == FileType::Directory) return found;
  return invalid(fmt::format("'{}', which the temp '{}' needs, {}", printable(path),
                             printable(declaration.path),
                             found->exists() ? "is not a directory" : "does not exist"),
                 "name a directory", declaration.origin);
}

// Whoever can write there could lead the kernel elsewhere while it looks for the changes.
Result<void> check_owner(const Found& found, const Declaration& declaration) {
  if (found.descriptor == nullptr) return {};  // nobody asked a host
  struct stat status = {};
  if (::fstat(found.descriptor->get(), &status) != 0)
    return system_error(fmt::format("cannot inspect '{}'", printable(declaration.changes)), errno);
  if (status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return invalid(fmt::format("'{}' cannot take changes: others can write there",
                             printable(declaration.changes)),
                 "make a directory that is yours alone: mkdir -m 0700", declaration.origin);
}

Tree as_tree(const Found& found, TreeKind kind, const Declaration& declaration) {
  Tree tree;
  tree.declaration = {.kind = kind,
                      .path = found.real_path,
                      .publish = kind == TreeKind::Output ? Publish::InPlace : Publish::Replace,
                      .origin = declaration.origin};
  tree.found = found;
  tree.place = found.real_path;
  return tree;
}

}  // namespace

Result<void> normalise_layers(Declaration& declaration) {
  const auto refuse = [&](std::string message, std::string hint) {
    return invalid(std::move(message), std::move(hint), declaration.origin);
  };
  const std::string path = printable(declaration.path);
  if (declaration.over.empty()) {
    if (declaration.changes.empty()) return {};
    return refuse(fmt::format("the temp '{}' keeps changes, but of nothing", path),
                  "say what it starts as, with 'over', or declare an output");
  }
  if (declaration.over.size() > kMostLayers)
    return refuse(fmt::format("the temp '{}' has {} layers, more than {}", path,
                              declaration.over.size(), kMostLayers),
                  "join some of them");
  if (!declaration.exceptions.empty())
    return refuse(fmt::format("the temp '{}' starts as something else and has exceptions", path),
                  "leave the exceptions out, and out of what it starts as");
  if (declaration.type == FileType::File)
    return refuse(fmt::format("the temp '{}' starts as a directory and is a file", path),
                  "leave 'type' out");
  declaration.type = FileType::Directory;
  for (std::string& layer : declaration.over) layer = TRY(normal_layer(layer, declaration));
  if (!declaration.changes.empty())
    declaration.changes = TRY(normal_layer(declaration.changes, declaration));
  return {};
}

Result<void> look_up_layers(Tree& tree, const Lookup& lookup) {
  const Declaration& declaration = tree.declaration;
  for (const std::string& layer : declaration.over)
    tree.over.push_back(TRY(look_up_directory(layer, declaration, lookup)));
  if (declaration.changes.empty()) return {};
  tree.changes = TRY(look_up_directory(declaration.changes, declaration, lookup));
  return check_owner(*tree.changes, declaration);
}

std::vector<Tree> with_layers(const std::vector<Tree>& trees) {
  std::vector<Tree> result;
  for (const Tree& tree : trees) {
    if (tree.declaration.kind != TreeKind::Temp) result.push_back(tree);
    for (const Found& layer : tree.over)
      result.push_back(as_tree(layer, TreeKind::Input, tree.declaration));
    if (tree.changes) result.push_back(as_tree(*tree.changes, TreeKind::Output, tree.declaration));
  }
  return result;
}

Result<void> check_layers_disjoint(const std::vector<Tree>& trees) {
  bool any = false;
  for (const Tree& layered : trees) {
    if (layered.over.empty()) continue;
    any = true;
    if (layered.place == "/") continue;  // a root: all the rest stands in it
    for (const Tree& tree : trees)
      if (is_strictly_within(tree.place, layered.place))
        return invalid(
            fmt::format("{} '{}' lies in the temp '{}', which starts as something else",
                        to_string(tree.declaration.kind), printable(tree.declaration.path),
                        printable(layered.declaration.path)),
            "declare it elsewhere", tree.declaration.origin);
  }
  if (!any) return {};
  Result<void> disjoint = check_host_trees_disjoint(with_layers(trees));
  if (disjoint) return disjoint;
  Error error = std::move(disjoint).error();
  error.message = "a temp's layers count as inputs, its changes as an output: " + error.message;
  error.hint =
      "take other directories for 'over' and 'changes', or declare the other one elsewhere";
  return error;
}

}  // namespace hermetic
