#include "hermetic/spec/excepted_objects.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/spec/layers.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/shown_parts.h"
#include "hermetic/spec/tree_files.h"

namespace hermetic {
namespace {

using FileId = std::pair<dev_t, ino_t>;

// One exception that exists, and the tree that it stands with.
struct Hidden {
  const Tree* owner;
  const std::string* asked;  // as it was declared
  Tree tree;                 // the excepted object, less what is declared in it
};

std::string describe(const Hidden& hidden) {
  return fmt::format("exception '{}' of {}", printable(*hidden.asked),
                     hermetic::describe(hidden.owner->declaration));
}

// A file that is excepted and has more names than those that are.
struct Linked {
  const Hidden* hidden;
  std::string path;
  nlink_t links;
  std::set<std::tuple<dev_t, ino_t, std::string>>
      names;  // in which directory, and how it is called
};

// What shows objects of the host: staged outputs and temps start without them.
bool shows_objects(const Tree& tree) {
  const bool written = tree.declaration.kind == TreeKind::Output;
  return tree.found.exists() && (!written || tree.declaration.publish == Publish::InPlace);
}

class Search {
 public:
  Search(const std::vector<Tree>& trees, const MountTable& mounts)
      : trees_(trees), mounts_(mounts), shown_(with_layers(trees)) {
    std::erase_if(shown_, [](const Tree& tree) { return !shows_objects(tree); });
    for (Tree& tree : shown_) hide_built_in(tree);
    for (const Tree& tree : shown_) add_shown_parts(tree, mounts_, parts_);
    for (const Tree& tree : trees_)
      for (std::size_t i = 0; i < tree.exceptions.size(); ++i)
        if (tree.exceptions[i].exists())
          hidden_.push_back(hide(tree, tree.declaration.exceptions[i], tree.exceptions[i]));
  }

  Result<void> run() {
    for (const Hidden& hidden : hidden_) TRY(check_trees_around(hidden));
    for (const Hidden& hidden : hidden_) TRY(check_mounts(hidden));
    for (const Hidden& hidden : hidden_) TRY(find_linked(hidden));
    std::erase_if(
        linked_, [](const auto& entry) { return entry.second.names.size() >= entry.second.links; });
    if (linked_.empty()) return {};
    for (const Tree& tree : shown_) TRY(check_links(tree));
    return {};
  }

 private:
  Hidden hide(const Tree& owner, const std::string& asked, const Found& exception) const {
    Hidden hidden{.owner = &owner, .asked = &asked, .tree = {}};
    hidden.tree.declaration = owner.declaration;
    hidden.tree.found = exception;
    const auto leave_out = [&](const Tree& tree) {
      if (tree.declaration.kind != TreeKind::Temp &&
          is_within(tree.found.real_path, exception.real_path))
        hidden.tree.real_exceptions.push_back(tree.found.real_path);
    };
    for (const Tree& tree : trees_) leave_out(tree);
    for (const Tree& layer : shown_) leave_out(layer);
    return hidden;
  }

  static bool is_declared_in(const Tree& tree, const Hidden& hidden) {
    return tree.declaration.kind != TreeKind::Temp &&  // nothing of the host is in a temp
           is_within(tree.found.real_path, hidden.tree.found.real_path);
  }

  // The same name, in a tree that does not except it.
  Result<void> check_trees_around(const Hidden& hidden) const {
    const std::string& path = hidden.tree.found.real_path;
    for (const Tree& tree : shown_) {
      if (!is_strictly_within(path, tree.found.real_path)) continue;
      if (!PathSet::tree(tree.found.real_path, tree.real_exceptions).contains(path)) continue;
      return invalid(fmt::format("the {} is shown by {}", describe(hidden),
                                 hermetic::describe(tree.declaration)),
                     "except it there as well", hidden.owner->declaration.origin);
    }
    return {};
  }

  // Through mounts: the same part of a file system under another name.
  Result<void> check_mounts(const Hidden& hidden) const {
    ShownParts taken;
    add_shown_parts(hidden.tree, mounts_, taken);
    ShownParts given;  // on purpose
    for (const Tree& tree : trees_)
      if (is_declared_in(tree, hidden)) add_shown_parts(tree, mounts_, given);
    for (const Tree& tree : shown_)
      if (is_declared_in(tree, hidden)) add_shown_parts(tree, mounts_, given);
    for (const auto& [device, regions] : taken) {
      const auto shown = parts_.find(device);
      if (shown == parts_.end()) continue;
      for (const Region& region : regions) {
        PathSet left = region.paths;
        if (const auto same = given.find(device); same != given.end())
          for (const Region& part : same->second) left = left - part.paths;
        for (const Region& part : shown->second) TRY(check_part(hidden, region, left, part));
      }
    }
    return {};
  }

  static Result<void> check_part(const Hidden& hidden, const Region& region, const PathSet& left,
                                 const Region& part) {
    if (left.empty() || part.paths.empty()) return {};
    const std::string& inner = left.boundaries().front().path;
    const std::string& outer = part.paths.boundaries().front().path;
    if (!is_within(inner, outer) && !is_within(outer, inner)) return {};  // the usual case, cheaply
    const auto place = (left & part.paths).witness();
    if (!place) return {};
    const auto name_in = [&](const Region& shown, const std::string& root) {
      return join(shown.name, relative_to(*place, root));
    };
    const std::string shown = name_in(part, *part.paths.witness());
    const std::string taken = name_in(region, *region.paths.witness());
    return invalid(
        fmt::format("the {} is shown by {} through a bind mount: '{}' is '{}'", describe(hidden),
                    hermetic::describe(part.tree->declaration), printable(shown), printable(taken)),
        fmt::format("except '{}' as well; findmnt lists the mounts", printable(shown)),
        hidden.owner->declaration.origin);
  }

  // A hard link does not leave its file system: where nothing is shown of that, nothing is read.
  [[nodiscard]] bool may_be_linked(const Hidden& hidden) const {
    ShownParts taken;
    add_shown_parts(hidden.tree, mounts_, taken);
    const auto is_shown = [](const Region& region) { return !region.paths.empty(); };
    return std::ranges::any_of(taken, [&](const auto& entry) {
      const auto shown = parts_.find(entry.first);
      return shown != parts_.end() && std::ranges::any_of(entry.second, is_shown) &&
             std::ranges::any_of(shown->second, is_shown);
    });
  }

  Result<void> find_linked(const Hidden& hidden) {
    if (!may_be_linked(hidden)) return {};
    return visit_files(
        hidden.tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
          if (status.st_nlink < 2) return {};
          const auto [place, inserted] = linked_.try_emplace(
              {status.st_dev, status.st_ino}, Linked{&hidden, path, status.st_nlink, {}});
          // The directory, and not its path: a mount gives it a second one.
          struct stat parent = {};
          if (::stat(std::string(parent_of(path)).c_str(), &parent) == 0)
            place->second.names.insert(
                {parent.st_dev, parent.st_ino, std::string(last_component(path))});
          return {};
        });
  }

  Result<void> check_links(const Tree& tree) const {
    return visit_files(
        tree, [&](const std::string& path, const struct stat& status) -> Result<void> {
          if (status.st_nlink < 2) return {};
          const auto hit = linked_.find({status.st_dev, status.st_ino});
          if (hit == linked_.end()) return {};
          const Hidden& hidden = *hit->second.hidden;
          return invalid(
              fmt::format("the {} is shown by {} through a hard link: '{}' is '{}'",
                          describe(hidden), hermetic::describe(tree.declaration), printable(path),
                          printable(hit->second.path)),
              fmt::format("except '{}' as well, or copy one of the two files", printable(path)),
              hidden.owner->declaration.origin);
        });
  }

  const std::vector<Tree>& trees_;
  const MountTable& mounts_;
  std::vector<Tree> shown_;
  ShownParts parts_;
  std::vector<Hidden> hidden_;
  std::map<FileId, Linked> linked_;
};

}  // namespace

Result<void> check_exceptions_hidden(const std::vector<Tree>& trees) {
  const bool any = std::ranges::any_of(
      trees, [](const Tree& tree) { return std::ranges::any_of(tree.exceptions, &Found::exists); });
  if (!any) return {};
  const MountTable mounts = TRY(MountTable::of_this_process());
  return Search(trees, mounts).run();
}

}  // namespace hermetic
