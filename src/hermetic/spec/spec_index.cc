// What build() works out once, so that every later question costs only the depth of its path.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <map>
#include <memory>

#include "hermetic/base/text.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/made_outputs.h"
#include "hermetic/spec/spec.h"

namespace hermetic {
namespace {

Result<Child> inspect(int directory, const Found& found, const char* name) {
  const std::string path = join(found.existing_path, name);
  struct stat status = {};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return system_error(fmt::format("cannot inspect '{}'", printable(path)), errno);
  Child child{.name = name,
              .type = S_ISDIR(status.st_mode) ? FileType::Directory : FileType::File,
              .link = {},
              .device = (std::uint64_t{major(status.st_dev)} << 32U) | minor(status.st_dev),
              .inode = status.st_ino};
  if (!S_ISLNK(status.st_mode)) return child;
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(directory, name, text.data(), text.size());
  if (size < 0)
    return system_error(fmt::format("cannot read the link '{}'", printable(path)), errno);
  child.link = std::string(text.data(), static_cast<std::size_t>(size));
  return child;
}

Error too_many_children(const Found& found, const std::string& place) {
  if (place == found.existing_path)
    return invalid(
        fmt::format("'{}' has too many entries to show them beside what the command makes",
                    printable(place)),
        "leave out made_by");
  return invalid(
      fmt::format("'{}' does not exist, and '{}' has too many entries to make a place beside them",
                  printable(place), printable(found.existing_path)),
      fmt::format("create it first: mkdir -p '{}'", printable(place)));
}

// The entries of a directory, sorted by name. A place that is missing there is made beside them.
Result<std::vector<Child>> list_children(const Found& found, const std::string& place) {
  std::vector<Child> children;
  if (!found.descriptor) return children;
  const auto cannot_list = [&] {
    return system_error(fmt::format("cannot list '{}'", printable(found.existing_path)), errno);
  };
  UniqueFd directory(::openat(found.descriptor->get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return cannot_list();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
  if (!stream) return cannot_list();
  const int fd = directory.release();  // the stream closes it
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    children.push_back(TRY(inspect(fd, found, entry->d_name)));
    if (children.size() > kMostChildren) return too_many_children(found, place);
  }
  std::sort(children.begin(), children.end(),
            [](const Child& a, const Child& b) { return a.name < b.name; });
  return children;
}

// Where a writable tree does not exist yet and its parent is shown from the host, the place for it
// is made in a private copy of that parent's listing: the host gets no mount points.
template <class IsInput>
Result<void> list_neighbours(Tree& tree, IsInput is_input) {
  if (tree.declaration.kind == TreeKind::Input || tree.found.exists() ||
      tree.declaration.made_by_command)
    return {};
  if (!is_input(tree.found.existing_path)) return {};
  Result<std::vector<Child>> children = list_children(tree.found, tree.found.real_path);
  if (!children) {
    Error error = std::move(children).error();
    error.origin = tree.declaration.origin;
    return error;
  }
  tree.children = std::move(*children);
  return {};
}

// Where the command makes outputs, in a directory that the host shows as an input: its entries are
// shown one by one in a private one, where names can be added. Links in it are copies.
template <class IsInput>
Result<void> list_around_made(Tree& tree, IsInput is_input) {
  if (!tree.found.exists()) return {};
  Result<std::vector<Child>> children = list_children(tree.found, tree.found.real_path);
  if (!children) {
    Error error = std::move(children).error();
    error.origin = tree.declaration.origin;
    return error;
  }
  for (Child& child : *children) {
    const std::string path = join(tree.found.real_path, child.name);
    if (!is_input(path)) continue;
    if (!child.link) tree.real_exceptions.push_back(path);
    tree.children.push_back(std::move(child));
  }
  return {};
}

// The private /tmp: all of /tmp, less what the spec itself declares there. A spec that declares
// /tmp gets what it declared.
void add_private_tmp(std::vector<Tree>& trees) {
  Tree tree;
  tree.built_in = true;
  tree.declaration = {
      .kind = TreeKind::Temp, .path = std::string(kTemporary), .type = FileType::Directory};
  tree.found.real_path = tree.found.existing_path = kTemporary;
  tree.found.type = FileType::Directory;
  for (const Tree& other : trees) {
    if (other.found.real_path == kTemporary) return;
    if (is_strictly_within(other.found.real_path, kTemporary))
      tree.real_exceptions.push_back(other.found.real_path);
  }
  trees.push_back(std::move(tree));
}

// An input above the built-in trees does not show the host's own: they are private to every run.
void carve_out_built_in_trees(std::vector<Tree>& trees) {
  for (Tree& tree : trees)
    for (const std::string_view reserved : {kDevices, kProcesses, kSystem, kTemporary})
      if (tree.declaration.kind == TreeKind::Input &&
          is_strictly_within(reserved, tree.found.real_path))
        tree.real_exceptions.emplace_back(reserved);
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
    for (const Link& link : tree.found.links) unique.emplace(link.path, link.target);
    for (const Found& exception : tree.exceptions)
      for (const Link& link : exception.links) unique.emplace(link.path, link.target);
  }
  std::vector<Link> links;
  for (const auto& [path, target] : unique) links.push_back({path, target});
  return links;
}

}  // namespace

bool Spec::Index::holds(TreeKind kind, std::string_view path) const {
  const auto hit = rules.nearest(path);
  const std::optional<Rule> rule = hit ? *hit->value : std::nullopt;
  return rule && !rule->excepted && trees[rule->tree].declaration.kind == kind;
}

PathSet Spec::set_of(TreeKind kind) const {
  std::vector<PathSet> sets;
  for (const Tree& tree : trees())
    if (tree.declaration.kind == kind)
      sets.push_back(PathSet::tree(tree.found.real_path, tree.real_exceptions));
  return PathSet::union_of(sets);
}

Result<void> Spec::fill_index(Index& index, std::vector<Tree> trees) {
  carve_out_built_in_trees(trees);
  std::vector<Tree> makers = maker_directories(trees);
  index.trees = std::move(trees);
  const auto is_input = [&](std::string_view path) { return index.holds(TreeKind::Input, path); };
  if (!makers.empty()) {
    fill_rules(index);  // as if the host's directories were shown as they are
    for (Tree& maker : makers) {
      TRY(list_around_made(maker, is_input));
      except_declared(maker, index.trees);
      index.trees.push_back(std::move(maker));
    }
  }
  add_private_tmp(index.trees);
  fill_rules(index);
  for (Tree& tree : index.trees) TRY(list_neighbours(tree, is_input));
  return {};
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
    index.places.slot(tree.found.real_path).push_back(number);
    if (!tree.real_exceptions.empty())
      carved[number] = PathSet::tree(tree.found.real_path, tree.real_exceptions);
  }

  // At each boundary, the tree with the deepest root that holds the path decides; if none holds it,
  // the deepest that would but for an exception is remembered, to explain the refusal.
  const auto rule_at = [&](std::string_view path) {
    std::optional<Index::Rule> rule;
    index.places.for_each_above(path, [&](const std::vector<std::size_t>& trees_here) {
      for (const std::size_t number : trees_here) {
        const bool excepted = carved[number] && !carved[number]->contains(path);
        if (excepted && rule && !rule->excepted) continue;
        rule = Index::Rule{number, excepted};
      }
    });
    return rule;
  };
  for (const Tree& tree : index.trees) {
    index.rules.set(tree.found.real_path, rule_at(tree.found.real_path));
    for (const std::string& exception : tree.real_exceptions)
      index.rules.set(exception, rule_at(exception));
  }
}

}  // namespace hermetic
