// What build() works out once, so that every later question costs only the depth of its path.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "hermetic/base/text.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/listings.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/made_outputs.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/shown_parts.h"
#include "hermetic/spec/spec.h"

namespace hermetic {
namespace {

// The private /tmp: all of /tmp, less what the spec itself declares there. A spec that declares
// /tmp gets what it declared.
void add_private_tmp(std::vector<Tree>& trees) {
  Tree tree;
  tree.built_in = true;
  tree.declaration = {
      .kind = TreeKind::Temp, .path = std::string(kTemporary), .type = FileType::Directory};
  tree.place = tree.found.real_path = tree.found.existing_path = kTemporary;
  tree.found.type = FileType::Directory;
  for (const Tree& other : trees) {
    if (other.place == kTemporary) return;
    if (is_strictly_within(other.place, kTemporary)) tree.holes.push_back(other.place);
  }
  tree.real_exceptions = tree.holes;
  trees.push_back(std::move(tree));
}

// A root of its own does not say who the command is: hermetic's files do.
void hide_identity(Tree& tree) {
  if (!is_root_of_its_own(tree) || tree.declaration.kind != TreeKind::Input) return;
  for (const std::string_view file : kSyntheticFiles) {
    tree.holes.emplace_back(file);
    tree.real_exceptions.push_back(host_name(tree, file));
  }
}

// Follows the text of links with the help of the other links that were met.
class LinkTexts {
 public:
  explicit LinkTexts(const std::vector<Link>& links) {
    for (const Link& link : links) texts_[link.path] = link.target;
  }

  [[nodiscard]] std::string destination(const Link& link, int depth = 0) const {
    std::string place = link.target.starts_with('/') ? "/" : std::string(parent_of(link.path));
    std::string_view rest = link.target;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('/'), rest.size());
      const std::string_view name = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (name.empty() || name == ".") continue;
      place = name == ".." ? std::string(parent_of(place)) : join(place, name);
      const auto inner = texts_.find(place);
      if (inner != texts_.end() && depth < kMostLinks)
        place = destination({place, inner->second}, depth + 1);
    }
    return place;
  }

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

std::vector<Link> links_of(const std::vector<Tree>& trees) {
  std::map<std::string, std::string> unique;
  for (const Tree& tree : trees) {
    if (!tree.declaration.at.empty()) continue;
    for (const Link& link : tree.found.links) unique.emplace(link.path, link.target);
    for (const Found& exception : tree.exceptions)
      for (const Link& link : exception.links) unique.emplace(link.path, link.target);
  }
  std::vector<Link> links;
  for (const auto& [path, target] : unique) links.push_back({path, target});
  return links;
}

// A link of the host on the way to a tree that stands where it lies must be there inside, too.
Result<void> check_links(const std::vector<Tree>& trees, const std::vector<Link>& links,
                         const std::function<const Tree*(std::string_view path)>& holder) {
  for (const Link& link : links) {
    const Tree* tree = holder(link.path);
    if (tree == nullptr || tree->declaration.at.empty()) continue;
    const bool made = tree->place != link.path && (tree->declaration.kind == TreeKind::Temp ||
                                                   (tree->declaration.kind == TreeKind::Output &&
                                                    tree->declaration.publish != Publish::InPlace));
    if (made) continue;
    const auto leads = [&](const Tree& other) {
      return other.declaration.at.empty() &&
             std::ranges::find(other.found.links, link) != other.found.links.end();
    };
    const auto other = std::ranges::find_if(trees, leads);
    if (other == trees.end()) continue;
    return invalid(
        fmt::format("{} leads through the link '{}' of the host, but inside {} stands there",
                    describe(other->declaration), printable(link.path),
                    describe(tree->declaration)),
        fmt::format("name the real path '{}', or say with 'at' where it is to stand",
                    printable(other->found.real_path)),
        other->declaration.origin);
  }
  return {};
}

}  // namespace

bool Spec::Index::holds(TreeKind kind, std::string_view path) const {
  const auto hit = rules.nearest(path);
  const std::optional<Rule> rule = hit ? *hit->value : std::nullopt;
  return rule && !rule->excepted && trees[rule->tree].declaration.kind == kind;
}

PathSet Spec::set_of(TreeKind kind) const {
  // A tree that shows something else than what it stands in covers that, also where it has holes.
  const auto is_placed = [](const Tree& tree) { return !tree.declaration.at.empty(); };
  if (std::ranges::any_of(trees(), is_placed)) {
    std::set<std::string, PathOrder> boundaries;
    for (const Tree& tree : trees()) {
      boundaries.insert(tree.place);
      boundaries.insert(tree.holes.begin(), tree.holes.end());
    }
    PathSet set;
    for (const std::string& path : boundaries)
      set = index_->holds(kind, path) ? set | PathSet::tree(path) : set - PathSet::tree(path);
    return set;
  }
  std::vector<PathSet> sets;
  for (const Tree& tree : trees())
    if (tree.declaration.kind == kind) sets.push_back(PathSet::tree(tree.place, tree.holes));
  return PathSet::union_of(sets);
}

Result<void> Spec::fill_index(Index& index, std::vector<Tree> trees) {
  for (Tree& tree : trees) hide_built_in(tree);
  for (Tree& tree : trees) hide_identity(tree);
  std::vector<Tree> makers = maker_directories(trees);
  index.trees = std::move(trees);
  const auto is_input = [&](std::string_view path) { return index.holds(TreeKind::Input, path); };
  if (!makers.empty()) {
    fill_rules(index);  // as if the host's directories were shown as they are
    for (Tree& maker : makers) {
      const auto hit = index.rules.nearest(maker.place);
      const std::optional<Index::Rule> rule = hit ? *hit->value : std::nullopt;
      // What is around is shown as the host has it, entry by entry: no place is made for another
      // tree there.
      const auto is_in_the_way = [&](const Tree& tree) {
        const bool holds_it = rule && &tree == &index.trees[rule->tree];
        return !tree.declaration.at.empty() && (holds_it || is_within(tree.place, maker.place));
      };
      const auto other = std::ranges::find_if(index.trees, is_in_the_way);
      if (other != index.trees.end())
        return invalid(fmt::format("nothing can be made by the command in '{}': inside, {} "
                                   "stands there",
                                   printable(maker.place), describe(other->declaration)),
                       "leave out made_by", maker.declaration.origin);
      TRY(list_around_made(maker, is_input));
      except_declared(maker, index.trees);
      index.trees.push_back(std::move(maker));
    }
  }
  add_private_tmp(index.trees);
  fill_rules(index);
  TRY(check_links(index.trees, index.links, [&](std::string_view path) -> const Tree* {
    const auto hit = index.rules.nearest(path);
    const std::optional<Index::Rule> rule = hit ? *hit->value : std::nullopt;
    return rule && !rule->excepted ? &index.trees[rule->tree] : nullptr;
  }));
  for (const Tree& tree : index.trees) {
    const auto link = index.link_targets.nearest(tree.place);
    if (!link || tree.declaration.at.empty()) continue;
    return invalid(fmt::format("{} cannot stand at '{}': inside, '{}' is a link to '{}'",
                               describe(tree.declaration), printable(tree.place),
                               printable(link->path), printable(*link->value)),
                   fmt::format("name the place without links: '{}'",
                               printable(join(*link->value, relative_to(tree.place, link->path)))),
                   tree.declaration.origin);
  }
  return add_listings(index.trees, index.places);
}

void Spec::fill_rules(Index& index) {
  index.links.clear();
  index.link_targets = {};
  index.places = {};
  index.rules = {};
  index.links = links_of(index.trees);
  const LinkTexts texts(index.links);
  for (const Link& link : index.links) {
    index.link_targets.set(link.path, texts.destination(link));
    index.places.slot(link.path);
  }

  // A tree without exceptions holds everything at and below its root: no set is needed to tell.
  std::vector<std::optional<PathSet>> carved(index.trees.size());
  for (std::size_t number = 0; number < index.trees.size(); ++number) {
    const Tree& tree = index.trees[number];
    index.places.slot(tree.place).push_back(number);
    if (!tree.holes.empty()) carved[number] = PathSet::tree(tree.place, tree.holes);
  }

  // At each boundary, the tree with the deepest root that holds the path decides; if none holds it,
  // the deepest that would but for an exception is remembered, to explain the refusal.
  const auto rule_at = [&](std::string_view path) {
    std::optional<Index::Rule> rule;
    index.places.for_each_above(path, [&](const std::vector<std::size_t>& trees_here) {
      for (const std::size_t number : trees_here) {
        const bool excepted = carved[number] && !carved[number]->contains(path);
        // Inputs add up where they show the same; what shows something else covers the rest.
        // Where the command makes outputs, what is around them shows through one by one.
        const bool adds_up = rule && (index.trees[number].built_in ||
                                      is_repeated(index.trees[number], index.trees[rule->tree]));
        if (excepted && rule && !rule->excepted && adds_up) continue;
        rule = Index::Rule{number, excepted};
      }
    });
    return rule;
  };
  for (const Tree& tree : index.trees) {
    index.rules.set(tree.place, rule_at(tree.place));
    for (const std::string& hole : tree.holes) index.rules.set(hole, rule_at(hole));
  }
}

}  // namespace hermetic
