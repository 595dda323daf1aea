#include "hermetic/spec/made_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hermetic/base/text.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic {
namespace {

Error refuse(const Tree& tree, std::string_view why, std::string hint) {
  return invalid(
      fmt::format("{} '{}' cannot be made by the command: {}", to_string(tree.declaration.kind),
                  printable(tree.declaration.path), why),
      std::move(hint), tree.declaration.origin);
}

bool holds(const Tree& tree, std::string_view path) {
  return is_within(path, tree.place) &&
         std::none_of(tree.holes.begin(), tree.holes.end(),
                      [&](const std::string& hole) { return is_within(path, hole); });
}

}  // namespace

Result<void> look_up_maker_directory(Tree& tree, const Lookup& lookup) {
  const Declaration& declaration = tree.declaration;
  if (!declaration.made_by_command) return {};
  if (!declaration.at.empty())
    return refuse(tree, "it stands elsewhere than on the host", "leave out made_by, or at");
  if (declaration.publish == Publish::InPlace)
    return refuse(tree, "it is changed in place", "leave out made_by, or publish: in_place");
  if (!declaration.exceptions.empty())
    return refuse(tree, "it has exceptions, which would be there before it", "leave them out");
  if (!declaration.over.empty())
    return refuse(tree, "it starts as something else", "leave out made_by, or over");
  Result<Found> parent = lookup(std::string(parent_of(declaration.path)));
  if (!parent) {
    Error error = std::move(parent).error();
    if (error.origin == Origin{}) error.origin = declaration.origin;
    return error;
  }
  const std::string place = join(parent->real_path, last_component(declaration.path));
  if (place != tree.found.real_path)
    return refuse(tree, fmt::format("it is a link to '{}'", printable(tree.found.real_path)),
                  "name what the link leads to");
  if (parent->real_path == "/" || is_within(parent->real_path, kSystem))
    return refuse(tree, fmt::format("nothing can be made in '{}'", printable(parent->real_path)),
                  "leave out made_by");
  tree.maker_directory = std::move(*parent);
  return {};
}

std::vector<Tree> maker_directories(const std::vector<Tree>& trees) {
  std::map<std::string, Tree, PathOrder> makers;
  for (const Tree& output : trees) {
    if (!output.maker_directory) continue;
    const Found& directory = *output.maker_directory;
    const auto [place, fresh] = makers.try_emplace(directory.real_path);
    if (!fresh) continue;
    Tree& maker = place->second;
    maker.built_in = true;
    maker.declaration = {.kind = TreeKind::Temp,
                         .path = directory.real_path,
                         .type = FileType::Directory,
                         .origin = output.declaration.origin};
    maker.found = directory;
    maker.place = directory.real_path;
  }
  std::vector<Tree> list;
  for (auto& [path, maker] : makers) list.push_back(std::move(maker));
  return list;
}

void except_declared(Tree& maker, const std::vector<Tree>& trees) {
  for (const Tree& other : trees)
    if (is_strictly_within(other.place, maker.place)) maker.holes.push_back(other.place);
  std::sort(maker.holes.begin(), maker.holes.end(), PathOrder());
  maker.holes.erase(std::unique(maker.holes.begin(), maker.holes.end()), maker.holes.end());
  maker.real_exceptions = maker.holes;
}

Result<void> check_made_outputs(const Spec& spec, const Origin& directory) {
  for (const Tree& output : spec.trees()) {
    if (!output.maker_directory) continue;
    const std::string& parent = output.maker_directory->real_path;
    if (spec.strict_outputs)
      return refuse(output, "with strict_outputs it could be read where it is made",
                    "leave out made_by, or strict_outputs");
    for (const Tree& other : spec.trees())
      if (other.declaration.kind != TreeKind::Input && !other.built_in && &other != &output &&
          is_within(parent, other.place) && (holds(other, parent) || !other.over.empty()))
        return refuse(output,
                      fmt::format("'{}', in which it would be made, belongs to the {} '{}'",
                                  printable(parent), to_string(other.declaration.kind),
                                  printable(other.declaration.path)),
                      "leave out made_by");
    if (is_within(spec.directory, output.found.real_path))
      return invalid(fmt::format("the directory '{}' does not exist when the command starts: "
                                 "'{}' is made by it",
                                 printable(spec.directory), printable(output.declaration.path)),
                     "start elsewhere, or leave out made_by", directory);
  }
  return {};
}

}  // namespace hermetic
