#include "hermetic/spec/listings.h"

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
#include <memory>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/made_outputs.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/shown_parts.h"

namespace hermetic {
namespace {

Result<std::string> text_of_link(int directory, const char* name, const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(directory, name, text.data(), text.size());
  if (size < 0)
    return system_error(fmt::format("cannot read the link '{}'", printable(path)), errno);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

Result<Child> inspect(int directory, const std::string& source, const char* name) {
  const std::string path = join(source, name);
  struct stat status = {};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
    return system_error(fmt::format("cannot inspect '{}'", printable(path)), errno);
  Child child{.name = name,
              .type = S_ISDIR(status.st_mode) ? FileType::Directory : FileType::File,
              .link = {},
              .device = (std::uint64_t{major(status.st_dev)} << 32U) | minor(status.st_dev),
              .inode = status.st_ino};
  if (S_ISLNK(status.st_mode)) child.link = TRY(text_of_link(directory, name, path));
  return child;
}

Error too_many_children(const std::string& source, const std::string& needed) {
  if (needed == source)
    return invalid(
        fmt::format("'{}' has too many entries to show them beside what the command makes",
                    printable(source)),
        "leave out made_by");
  return invalid(
      fmt::format("'{}' does not exist, and '{}' has too many entries to make a place beside them",
                  printable(needed), printable(source)),
      fmt::format("create it first: mkdir -p '{}'", printable(needed)));
}

// The entries of a directory, sorted by name.
Result<std::vector<Child>> list_children(int object, const std::string& source,
                                         const std::string& needed) {
  std::vector<Child> children;
  const auto cannot_list = [&] {
    return system_error(fmt::format("cannot list '{}'", printable(source)), errno);
  };
  UniqueFd directory(::openat(object, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return cannot_list();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
  if (!stream) return cannot_list();
  const int fd = directory.release();  // the stream closes it
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    children.push_back(TRY(inspect(fd, source, entry->d_name)));
    if (children.size() > kMostChildren) return too_many_children(source, needed);
  }
  std::sort(children.begin(), children.end(),
            [](const Child& a, const Child& b) { return a.name < b.name; });
  return children;
}

bool shows_host(const Tree& tree) {
  return tree.declaration.kind == TreeKind::Input || (tree.declaration.kind == TreeKind::Output &&
                                                      tree.declaration.publish == Publish::InPlace);
}

FileType type_of(const Tree& tree) {
  const FileType type = tree.found.exists() ? tree.found.type : tree.declaration.type;
  return type == FileType::File ? FileType::File : FileType::Directory;
}

// The walk from a tree of the host to the place of another tree in it.
class Way {
 public:
  Way(const Tree& around, Tree& tree)
      : around_(around), tree_(tree), inside_(around.place), here_(around.found.descriptor) {}

  // A root that is a copy: its places are made among what is changed, which hides what it starts
  // with, but a link on the way would lead elsewhere.
  Result<void> walk_layers() {
    for (const Found& layer : around_.over) {
      if (layer.descriptor == nullptr) continue;
      here_ = layer.descriptor;
      TRY(check_way(relative()));
    }
    return {};
  }

  Result<void> walk() {
    const std::string way = relative();
    for (Components component(way); component.next();) {
      const std::string next = join(around_.place, component.prefix().substr(1));
      const bool last = next == tree_.place;
      UniqueFd object(::openat(here_->get(), std::string(component.name()).c_str(),
                               O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (!object.is_open() && errno != ENOENT)
        return at_tree(system_error(
            fmt::format("cannot open '{}'", printable(host_name(around_, next))), errno));
      if (!object.is_open()) return missing();
      struct stat status = {};
      if (::fstat(object.get(), &status) != 0)
        return at_tree(system_error(
            fmt::format("cannot inspect '{}'", printable(host_name(around_, next))), errno));
      const bool directory = S_ISDIR(status.st_mode);
      if (last) {
        const bool fits = directory == (type_of(tree_) == FileType::Directory);
        return fits && !S_ISLNK(status.st_mode) ? Result<void>() : missing();
      }
      if (!directory) return in_the_way(next, here_->get(), component.name(), status);
      // The rest is private: a place is made there.
      if (std::ranges::find(around_.holes, next) != around_.holes.end()) return {};
      here_ = std::make_shared<const UniqueFd>(std::move(object));
      inside_ = next;
    }
    return {};
  }

 private:
  Result<void> check_way(const std::string& path) {
    for (Components component(path); component.next();) {
      const std::string name(component.name());
      UniqueFd object(::openat(here_->get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      struct stat status = {};
      if (!object.is_open() || ::fstat(object.get(), &status) != 0) {
        if (errno == ENOENT) return {};
        return at_tree(system_error(
            fmt::format("cannot open '{}' of {}", printable(path), describe(around_.declaration)),
            errno));
      }
      const bool directory = S_ISDIR(status.st_mode);
      const bool last = component.prefix() == path;
      if (last ? directory && type_of(tree_) == FileType::File : !directory)
        return in_the_way(std::string(component.prefix()), here_->get(), name, status);
      here_ = std::make_shared<const UniqueFd>(std::move(object));
    }
    return {};
  }

  // With a slash in front, so that it is a path.
  [[nodiscard]] std::string relative() const {
    return "/" + std::string(relative_to(tree_.place, around_.place));
  }

  Error at_tree(Error error) const {
    error.origin = tree_.declaration.origin;
    return error;
  }

  // Nothing fit is there: beside what is, it can be made, but not in what the host keeps.
  Result<void> missing() {
    if (around_.declaration.kind != TreeKind::Input)
      return invalid(
          fmt::format("{} has no place: '{}' of {}, which is changed in place, does not exist or "
                      "is of another type",
                      describe(tree_.declaration), printable(tree_.place),
                      describe(around_.declaration)),
          fmt::format("create it first, on the host '{}'",
                      printable(host_name(around_, tree_.place))),
          tree_.declaration.origin);
    Result<std::vector<Child>> children =
        list_children(here_->get(), host_name(around_, inside_), host_name(around_, tree_.place));
    if (!children) return at_tree(std::move(children).error());
    tree_.listings.push_back({.place = inside_,
                              .source = host_name(around_, inside_),
                              .object = here_,
                              .children = std::move(*children)});
    return {};
  }

  Result<void> in_the_way(const std::string& path, int directory, std::string_view name,
                          const struct stat& status) const {
    std::string what = S_ISDIR(status.st_mode) ? "is a directory" : "is a file";
    std::string hint = "place it elsewhere";
    if (S_ISLNK(status.st_mode)) {
      const std::string text = TRY(text_of_link(directory, std::string(name).c_str(), path));
      what = fmt::format("is a symbolic link to '{}'", printable(text));
      hint = "name the place without links";
    }
    return invalid(
        fmt::format("{} cannot stand at '{}': '{}' of {} {}", describe(tree_.declaration),
                    printable(tree_.place), printable(path), describe(around_.declaration), what),
        hint, tree_.declaration.origin);
  }

  const Tree& around_;
  Tree& tree_;
  std::string inside_;                    // the deepest directory that was reached
  std::shared_ptr<const UniqueFd> here_;  // that directory
};

// Where a root has no directory for what every sandbox has, or a link in its place, one is made.
// /etc gets the files that tell programs who they are.
Result<void> list_root(Tree& tree) {
  if (tree.found.descriptor == nullptr || tree.declaration.kind != TreeKind::Input) return {};
  const auto at_tree = [&](Error error) {
    error.origin = tree.declaration.origin;
    return error;
  };
  const std::string& root = tree.found.real_path;
  Result<std::vector<Child>> children = list_children(tree.found.descriptor->get(), root, root);
  if (!children) return at_tree(std::move(children).error());
  const auto etc = std::ranges::find(*children, "etc", &Child::name);
  const bool has_etc =
      etc != children->end() && std::ranges::find(tree.holes, "/etc") == tree.holes.end();
  if (has_etc && etc->type != FileType::Directory)
    return invalid(
        fmt::format("{} cannot be the root: its '/etc' is {}", describe(tree.declaration),
                    etc->link ? "a symbolic link" : "a file"),
        "make it a directory, or except '/etc'", tree.declaration.origin);
  tree.listings.push_back({.place = "/",
                           .source = root,
                           .object = tree.found.descriptor,
                           .children = std::move(*children)});
  if (!has_etc) return {};
  const std::string source = join(root, "etc");
  auto object = std::make_shared<const UniqueFd>(
      ::openat(tree.found.descriptor->get(), "etc", O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
  if (!object->is_open())
    return at_tree(system_error(fmt::format("cannot open '{}'", printable(source)), errno));
  Result<std::vector<Child>> files = list_children(object->get(), source, source);
  if (!files) return at_tree(std::move(files).error());
  tree.listings.push_back({.place = "/etc",
                           .source = source,
                           .object = std::move(object),
                           .children = std::move(*files)});
  return {};
}

// The files in /etc are made in a copy, where nothing else may be in their place.
Result<void> check_copied_root(const Tree& tree) {
  for (const Found& layer : tree.over) {
    if (layer.descriptor == nullptr) continue;
    const UniqueFd etc(
        ::openat(layer.descriptor->get(), "etc", O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
    if (!etc.is_open()) continue;
    for (const std::string_view file : kSyntheticFiles) {
      struct stat status = {};
      const std::string name(last_component(file));
      if (::fstatat(etc.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISDIR(status.st_mode))
        return invalid(fmt::format("{} cannot be the root: its '{}' is {}",
                                   describe(tree.declaration), file, "a directory"),
                       "make it a file, or remove it", tree.declaration.origin);
    }
  }
  return {};
}

// What a lookup says that asks no host: nothing of places that are elsewhere there.
void list_by_name(const Tree& around, Tree& tree) {
  const bool as_on_host = around.declaration.at.empty() && tree.declaration.at.empty();
  if (!as_on_host || tree.found.exists()) return;
  tree.listings.push_back({.place = tree.found.existing_path,
                           .source = tree.found.existing_path,
                           .object = nullptr,
                           .children = {}});
}

}  // namespace

Result<void> list_around_made(Tree& maker,
                              const std::function<bool(std::string_view path)>& is_input) {
  if (!maker.found.exists()) return {};
  ShownDirectory listing{.place = maker.place,
                         .source = maker.found.real_path,
                         .object = maker.found.descriptor,
                         .children = {}};
  if (maker.found.descriptor != nullptr) {
    Result<std::vector<Child>> children =
        list_children(maker.found.descriptor->get(), maker.found.real_path, maker.found.real_path);
    if (!children) {
      Error error = std::move(children).error();
      error.origin = maker.declaration.origin;
      return error;
    }
    for (Child& child : *children) {
      const std::string path = join(maker.place, child.name);
      if (!is_input(path)) continue;
      if (!child.link) maker.holes.push_back(path);
      listing.children.push_back(std::move(child));
    }
  }
  maker.listings.push_back(std::move(listing));
  return {};
}

Result<void> add_listings(std::vector<Tree>& trees,
                          const PathMap<std::vector<std::size_t>>& places) {
  for (Tree& tree : trees) {
    if (is_root_of_its_own(tree)) TRY(list_root(tree));
    if (is_root_of_its_own(tree)) TRY(check_copied_root(tree));
    if (tree.place == "/" || tree.declaration.made_by_command) continue;
    const Tree* around = nullptr;
    // Beside what the command makes, entries are shown by the tree around that.
    const auto shows_through = [&](const Tree& built_in) {
      return std::ranges::any_of(built_in.holes, [&](const std::string& hole) {
        return is_within(parent_of(tree.place), hole);
      });
    };
    places.for_each_above(parent_of(tree.place), [&](const std::vector<std::size_t>& numbers) {
      for (const std::size_t number : numbers)
        if (!trees[number].built_in || !shows_through(trees[number])) around = &trees[number];
    });
    if (around != nullptr && around->place == "/" && !around->over.empty())
      TRY(Way(*around, tree).walk_layers());
    if (around == nullptr || !shows_host(*around)) continue;
    // What the tree around shows there is the tree itself.
    if (tree.found.exists() && host_name(*around, tree.place) == tree.found.real_path) continue;
    if (around->found.descriptor != nullptr)
      TRY(Way(*around, tree).walk());
    else
      list_by_name(*around, tree);
  }
  return {};
}

}  // namespace hermetic
