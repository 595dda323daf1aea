// From the sets of a spec to the file system that a command sees.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hermetic/plan/plan.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/place.h"

namespace hermetic {
namespace {

using Kind = ViewEntry::Kind;

std::string passwd_line(Identity identity) {
  constexpr std::string_view kNobody =
      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
  return identity == Identity::Root ? fmt::format("root:x:0:0:root:/tmp:/bin/sh\n{}", kNobody)
                                    : fmt::format(
                                          "root:x:0:0:root:/nonexistent:/usr/sbin/"
                                          "nologin\nbuilder:x:1000:1000:builder:/tmp:/bin/sh\n{}",
                                          kNobody);
}

std::string group_lines(Identity identity) {
  return identity == Identity::Root ? "root:x:0:\nnogroup:x:65534:\n"
                                    : "root:x:0:\nbuilder:x:1000:\nnogroup:x:65534:\n";
}

std::string synthetic_text(std::string_view path, const Spec& spec) {
  if (path == "/etc/passwd") return passwd_line(spec.identity);
  if (path == "/etc/group") return group_lines(spec.identity);
  if (path == "/etc/hosts")
    return fmt::format("127.0.0.1 localhost\n::1 localhost\n127.0.0.1 {}\n", spec.hostname);
  if (path == "/etc/nsswitch.conf") return "passwd: files\ngroup: files\nhosts: files dns\n";
  return "";  // resolv.conf: there is no resolver
}

// What a directory of the sandbox is backed by decides how a place in it can be made.
bool is_private(Kind kind) {
  return kind == Kind::Directory || kind == Kind::Output || kind == Kind::Temp ||
         kind == Kind::Listing;
}

class ViewMaker {
 public:
  explicit ViewMaker(const Spec& spec) : spec_(spec) {}

  std::vector<ViewEntry> make() {
    for (const Tree& tree : spec_.trees()) add_tree(tree);
    for (const Tree& tree : spec_.trees())
      for (const ShownDirectory& listing : tree.listings) {
        if (tree.built_in && listing.place == tree.place)
          add_children(listing, true);
        else
          add_listing(listing);
      }
    for (const Tree& tree : spec_.trees()) add_exceptions(tree);
    for (const Link& link : spec_.links())
      if (!is_of_host(above(link.path)))
        put({.kind = Kind::Link, .path = link.path, .type = FileType::File, .text = link.target});
    put({.kind = Kind::Devices, .path = std::string(kDevices)});
    put({.kind = Kind::Processes, .path = std::string(kProcesses)});
    for (const std::string_view path : kSyntheticFiles) add_file(path);
    make_places();
    std::vector<ViewEntry> view;
    for (auto& [path, entry] : entries_) view.push_back(std::move(entry));
    return view;
  }

 private:
  // The first word on a path stands: trees before what is derived from them.
  void put(ViewEntry&& entry) {
    const std::string path = entry.path;
    entries_.try_emplace(path, std::move(entry));
  }

  // The nearest entry strictly above; none if that is the sandbox's own root.
  [[nodiscard]] const ViewEntry* above(std::string_view path) const {
    while (path != "/") {
      path = parent_of(path);
      if (const auto found = entries_.find(path); found != entries_.end()) return &found->second;
    }
    return nullptr;
  }

  // Is what is there the host's own, so that no place can be made in it?
  [[nodiscard]] static bool is_of_host(const ViewEntry* entry) {
    return entry != nullptr && !is_private(entry->kind);
  }

  // Is the path part of an input, and so shown with it?
  [[nodiscard]] bool is_shown(std::string_view path) const { return spec_.is_input(path); }

  void add_tree(const Tree& tree) {
    const Declaration& declaration = tree.declaration;
    if (declaration.made_by_command) return;  // it comes to be in the directory around it
    ViewEntry entry;
    entry.path = tree.place;
    entry.type = tree.found.exists() ? tree.found.type : declaration.type;
    if (entry.type == FileType::Unknown) entry.type = FileType::Directory;
    switch (declaration.kind) {
      case TreeKind::Input: entry.kind = Kind::Input; break;
      case TreeKind::Output:
        entry.kind = declaration.publish == Publish::InPlace ? Kind::OutputInPlace : Kind::Output;
        break;
      case TreeKind::Temp: entry.kind = Kind::Temp; break;
    }
    if (entry.kind == Kind::Input && is_repeated(tree)) return;
    if (entry.kind == Kind::Input || entry.kind == Kind::OutputInPlace) {
      entry.source = tree.found.real_path;
      entry.object = tree.found.descriptor;
      entry.device = tree.found.device;
      entry.inode = tree.found.inode;
    }
    for (const Found& layer : tree.over) entry.over.push_back(planned(layer));
    if (tree.changes) entry.changes = planned(*tree.changes);
    const bool has_neighbours = tree.built_in && tree.found.exists();
    if (has_neighbours) replace_input(entry.path);
    put(std::move(entry));
  }

  static PlannedLayer planned(const Found& layer) {
    return {.source = layer.real_path,
            .object = layer.descriptor,
            .device = layer.device,
            .inode = layer.inode};
  }

  // An input below a directory that is shown anyway needs no mount of its own.
  [[nodiscard]] bool is_repeated(const Tree& tree) const {
    if (tree.place == "/") return false;
    const std::string_view parent = parent_of(tree.place);
    return is_shown(parent) &&
           hermetic::is_repeated(tree, *spec_.decide(parent, Operation::Read).tree);
  }

  void add_listing(const ShownDirectory& listing) {
    // Another tree stands there, or the directory is excepted: then nothing of it is shown.
    if (!is_shown(listing.place)) return;
    const Decision decision = spec_.decide(listing.place, Operation::Read);
    if (host_name(*decision.tree, listing.place) != listing.source) return;
    replace_input(listing.place);
    put({.kind = Kind::Listing, .path = listing.place, .source = listing.source});
    add_children(listing, false);
  }

  // A tree that ends exactly here is replaced; otherwise what stands here covers a part of it.
  void replace_input(const std::string& directory) {
    const auto tops = entries_.find(directory);
    if (tops != entries_.end() && tops->second.kind == Kind::Input) entries_.erase(tops);
  }

  void add_children(const ShownDirectory& listing, bool copies_links) {
    for (const Child& child : listing.children) {
      const std::string path = join(listing.place, child.name);
      // Excepted, or something else is put there. A link in what can be written is a copy.
      if (!is_shown(path) && !(copies_links && child.link)) continue;
      if (child.link)
        put({.kind = Kind::Link, .path = path, .type = FileType::File, .text = *child.link});
      else
        put({.kind = Kind::Input,
             .path = path,
             .type = child.type,
             .source = join(listing.source, child.name),
             .object = listing.object,
             .device = child.device,
             .inode = child.inode});
    }
  }

  void add_exceptions(const Tree& tree) {
    const bool host =
        tree.declaration.kind == TreeKind::Input || tree.declaration.publish == Publish::InPlace;
    for (std::size_t i = 0; i < tree.holes.size(); ++i) {
      const std::string& path = tree.holes[i];
      // The declared exceptions come first; the built-in trees after them exist everywhere.
      const Found* found = i < tree.exceptions.size() ? &tree.exceptions[i] : nullptr;
      const bool exists = found == nullptr || found->exists();
      if (host && !exists) {  // nothing to hide, and nothing can be made there
        absent_.push_back(path);
        continue;
      }
      // All around it is hidden already, as in /sys below an input of everything.
      if (spec_.decide(parent_of(path), Operation::Read).because == Decision::Because::Excepted)
        continue;
      const Decision decision = spec_.decide(path, Operation::Read);
      if (decision.because == Decision::Because::Declared ||
          decision.because == Decision::Because::BuiltIn)
        continue;
      const bool file = found != nullptr && exists && found->type == FileType::File;
      const bool on_the_way = decision.because == Decision::Because::OnTheWay;
      put({.kind = on_the_way ? Kind::Listing : Kind::Hidden,
           .path = path,
           .type = file && !on_the_way ? FileType::File : FileType::Directory});
    }
  }

  void add_file(std::string_view path) {
    const Decision decision = spec_.decide(path, Operation::Read);
    const bool in_copied_root = decision.because == Decision::Because::Declared &&
                                decision.tree->place == "/" && !decision.tree->over.empty();
    if (decision.because != Decision::Because::BuiltIn && !in_copied_root) return;
    const bool no_place = is_of_host(above(path)) &&
                          std::any_of(absent_.begin(), absent_.end(), [&](const std::string& hole) {
                            return is_within(path, hole);
                          });
    if (!no_place)
      put({.kind = Kind::File,
           .path = std::string(path),
           .type = FileType::File,
           .text = synthetic_text(path, spec_)});
  }

  // Nothing is there yet where the nearest thing above is private; then every directory in between,
  // and the place itself, must be made.
  void make_places() {
    std::vector<std::string> paths;
    for (const auto& [path, entry] : entries_) paths.push_back(path);
    for (const std::string& path : paths) {
      const ViewEntry* holder = above(path);
      if (path == "/" || is_of_host(holder)) continue;
      entries_.find(path)->second.make_point = true;
      const std::string_view top = holder != nullptr ? std::string_view(holder->path) : "/";
      for (std::string_view between = parent_of(path); between != top; between = parent_of(between))
        put({.kind = Kind::Directory, .path = std::string(between), .make_point = true});
    }
  }

  const Spec& spec_;
  std::map<std::string, ViewEntry, PathOrder> entries_;
  std::vector<std::string> absent_;  // exceptions of the host's trees that do not exist there
};

}  // namespace

std::string_view to_string(ViewEntry::Kind kind) {
  switch (kind) {
    case Kind::Directory: return "directory";
    case Kind::Input: return "input";
    case Kind::Output: return "output";
    case Kind::OutputInPlace: return "in_place";
    case Kind::Temp: return "temp";
    case Kind::Hidden: return "hidden";
    case Kind::Listing: return "listing";
    case Kind::Link: return "link";
    case Kind::File: return "file";
    case Kind::Devices: return "devices";
    case Kind::Processes: return "processes";
  }
  return "";
}

std::vector<ViewEntry> view_of(const Spec& spec) { return ViewMaker(spec).make(); }

}  // namespace hermetic
