// Case: a small tree of files and a spec over it, made from a seed and printed so that it can be
// made again by hand.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::differential {

// One entry of the tree. Entries are made in order; one that cannot be made is left out, so that a
// case with fewer of them is a case again.
struct Node {
  enum class Kind { Directory, File, Link, HardLink, Alias };
  Kind kind = Kind::Directory;
  std::string path;
  std::string target;  // the text of a Link; the file of a HardLink; the directory that an Alias
                       // shows by a bind mount
};

struct Case {
  std::string base;  // exists; the tree is its entry "w"
  std::vector<Node> nodes;
  std::vector<Declaration> declarations;
  bool strict_outputs = false;
  bool identity_root = false;
  bool classic_mounts = false;
  bool landlock = true;            // false: the mounts alone must do
  std::vector<std::string> paths;  // to ask about

  [[nodiscard]] std::string root() const { return base + "/w"; }
};

// Of what every sandbox has, the part about which decide() speaks for every file.
inline constexpr std::array<std::string_view, 20> kBuiltInPaths = {
    "/dev/pts",    "/dev/pts/ptmx",
    "/dev/ptmx",   "/dev/fd",
    "/dev/stdout", "/dev/stdin/x",
    "/",           "/etc",
    "/etc/passwd", "/etc/resolv.conf",
    "/dev",        "/dev/null",
    "/dev/zero",   "/dev/shm",
    "/dev/shm/x",  "/tmp",
    "/tmp/x/y",    "/proc",
    "/sys",        "/proc/self/fd"};

// Every path that the case knows, what lies around these, and some that are there anyway.
inline std::vector<std::string> paths_of(const Case& asked) {
  std::set<std::string> known;
  const auto know = [&](const std::string& path) {
    known.insert(path);
    for (std::string_view above = path; above != "/";) known.emplace(above = parent_of(above));
  };
  for (const Node& node : asked.nodes) {
    know(node.path);
    if (node.kind == Node::Kind::Alias)
      for (const Node& other : asked.nodes)
        if (is_strictly_within(other.path, node.target))
          know(join(node.path, relative_to(other.path, node.target)));
  }
  for (const Declaration& declaration : asked.declarations) {
    know(declared_place(declaration));
    for (const std::string& exception : declaration.exceptions) know(exception);
    if (declaration.at.empty()) continue;
    const std::string& source =
        declaration.over.empty() ? declaration.path : declaration.over.front();
    for (const Node& node : asked.nodes)
      if (is_within(node.path, source)) know(join(declaration.at, relative_to(node.path, source)));
  }
  std::vector<std::string> paths(known.begin(), known.end());
  for (const std::string& path : known) paths.push_back(join(path, "x"));
  return paths;
}

// The same numbers from the same seed with every standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : numbers_(seed) {}

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(numbers_() % end); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class Items>
  const auto& pick(const Items& items) {
    return items[below(std::size(items))];
  }

 private:
  std::mt19937_64 numbers_;
};

class CaseMaker {
 public:
  CaseMaker(std::uint64_t seed, const std::vector<std::string>& bases) : dice_(seed) {
    made_.base = dice_.pick(bases);
    all_ = directories_ = {made_.root()};
  }

  Case make() {
    for (std::size_t count = 3 + dice_.below(10); count > 0; --count) add_node();
    for (std::size_t count = 1 + dice_.below(5); count > 0; --count) add_declaration();
    if (dice_.chance(95)) carve();
    made_.strict_outputs = dice_.chance(25);
    made_.identity_root = dice_.chance(30);
    made_.classic_mounts = dice_.chance(30);
    made_.landlock = made_.strict_outputs || dice_.chance(70);
    add_paths();
    return std::move(made_);
  }

 private:
  // '!' sorts before '/', so that an order by letters shows itself as a mistake.
  static constexpr std::array kNames = {"a", "a!", "b", "c"};

  std::string new_name(std::size_t levels = 1) {
    std::string path = dice_.pick(directories_);
    for (; levels > 0; --levels) path = join(path, dice_.pick(kNames));
    return path;
  }

  // What a link says: another entry or a missing one, absolute or relative.
  std::string link_text(const std::string& link) {
    const std::string target = dice_.chance(85) ? dice_.pick(all_) : new_name(2);
    if (dice_.chance(50)) return target;
    return std::filesystem::path(target).lexically_relative(parent_of(link)).string();
  }

  void add_node() {
    Node node{.path = new_name()};
    for (const std::string& other : all_)
      if (other == node.path) return;
    const std::size_t roll = dice_.below(100);
    if (roll < 45) {
      node.kind = Node::Kind::Directory;
    } else if (roll < 70) {
      node.kind = Node::Kind::File;
    } else if (roll < 85) {
      node.kind = Node::Kind::Link;
      node.target = link_text(node.path);
    } else if (roll < 90) {
      node.kind = Node::Kind::HardLink;
      node.target = dice_.pick(all_);
    } else {
      node.kind = Node::Kind::Alias;
      node.target = dice_.pick(directories_);
    }
    if (node.kind == Node::Kind::Directory || node.kind == Node::Kind::Alias)
      directories_.push_back(node.path);
    all_.push_back(node.path);
    made_.nodes.push_back(std::move(node));
  }

  void add_declaration() {
    constexpr std::array kPublish = {Publish::Replace, Publish::Merge, Publish::InPlace};
    constexpr std::array kTypes = {FileType::Unknown, FileType::Unknown, FileType::Directory,
                                   FileType::File};
    Declaration declaration;
    const std::size_t roll = dice_.below(100);
    declaration.kind = roll < 50 ? TreeKind::Input : roll < 80 ? TreeKind::Output : TreeKind::Temp;
    const bool input = declaration.kind == TreeKind::Input;
    if (declaration.kind == TreeKind::Output) declaration.publish = dice_.pick(kPublish);
    if (!input) declaration.type = dice_.pick(kTypes);
    const bool exists = input || declaration.publish == Publish::InPlace;
    const std::size_t where = dice_.below(100);
    declaration.path = where < 3 && input           ? "/"
                       : where < 5 && input         ? "/etc"
                       : where < 3 && !exists       ? "/tmp/" + std::string(dice_.pick(kNames))
                       : where < 10                 ? made_.root()
                       : where < (exists ? 99 : 75) ? dice_.pick(all_)
                                                    : new_name(1 + dice_.below(2));
    for (const Declaration& other : made_.declarations)
      if (other.path == declaration.path && !dice_.chance(20)) return;
    const bool file = is_file(declaration.path) || declaration.type == FileType::File;
    for (std::size_t count = file ? 0 : dice_.below(100) / 40; count > 0; --count) {
      std::string hole = dice_.chance(80) ? dice_.pick(all_) : new_name();
      if (!is_strictly_within(hole, declaration.path))
        hole = join(declaration.path, dice_.pick(kNames));
      declaration.exceptions.push_back(std::move(hole));
    }
    declaration.made_by_command = !exists && declaration.exceptions.empty() && dice_.chance(30);
    if (!declaration.made_by_command && dice_.chance(35)) place(declaration);
    made_.declarations.push_back(std::move(declaration));
  }

  // Somewhere new, where the host has something else, where something built in stands, or as the
  // root of all. Exceptions are names inside then.
  void place(Declaration& declaration) {
    const bool input = declaration.kind == TreeKind::Input;
    if (declaration.kind == TreeKind::Temp && dice_.chance(40)) return copy(declaration);
    const std::size_t roll = dice_.below(100);
    std::string at = roll < 30            ? join("/p", dice_.pick(kNames))
                     : roll < 40          ? join("/p/a/b", dice_.pick(kNames))
                     : roll < 65          ? dice_.pick(all_)
                     : roll < 80          ? new_name(2)
                     : roll < 85          ? "/tmp/" + std::string(dice_.pick(kNames))
                     : roll < 88          ? std::string("/etc/passwd")
                     : roll < 90          ? std::string("/etc/") + dice_.pick(kNames)
                     : roll < 92 && input ? std::string("/dev/shm")
                     : roll < 97 && input ? std::string("/")
                                          : "/" + std::string(dice_.pick(kNames));
    for (std::string& exception : declaration.exceptions)
      exception = join(at, relative_to(exception, declaration.path));
    if (declaration.kind == TreeKind::Temp) declaration.path = at;
    declaration.at = std::move(at);
  }

  // A temp that starts as a directory: the root of all, or somewhere.
  void copy(Declaration& declaration) {
    declaration.over = {declaration.path};
    declaration.at = dice_.chance(60) ? std::string("/") : join("/p", dice_.pick(kNames));
    declaration.path = declaration.at;
    declaration.exceptions.clear();
    declaration.type = FileType::Unknown;
  }

  [[nodiscard]] bool is_file(const std::string& path) const {
    return std::any_of(made_.nodes.begin(), made_.nodes.end(), [&](const Node& node) {
      return node.path == path && node.kind == Node::Kind::File;
    });
  }

  // Takes out of each tree what others declare inside it, as people do; most specs collide
  // otherwise.
  void carve() {
    for (Declaration& outer : made_.declarations)
      for (const Declaration& inner : made_.declarations) {
        const bool inputs = inner.kind == TreeKind::Input && outer.kind == TreeKind::Input;
        if (inputs) continue;
        if (!outer.over.empty()) continue;  // has no exceptions
        const std::string& place = declared_place(outer);
        if (is_strictly_within(declared_place(inner), place))
          outer.exceptions.push_back(declared_place(inner));
        if (inner.kind != TreeKind::Temp && is_strictly_within(inner.path, outer.path))
          outer.exceptions.push_back(join(place, relative_to(inner.path, outer.path)));
      }
  }

  // Not all: a question costs less than a sandbox, but there are hundreds.
  void add_paths() {
    constexpr std::size_t kMostPaths = 24;
    made_.paths = paths_of(made_);
    for (std::size_t i = made_.paths.size(); i > 1; --i)
      std::swap(made_.paths[i - 1], made_.paths[dice_.below(i)]);
    made_.paths.resize(std::min(made_.paths.size(), kMostPaths));
    for (int count = 3; count > 0; --count) made_.paths.emplace_back(dice_.pick(kBuiltInPaths));
  }

  Dice dice_;
  Case made_;
  std::vector<std::string> directories_;
  std::vector<std::string> all_;
};

inline SpecBuilder builder_of(const Case& asked, const std::string& prober) {
  SpecBuilder builder({prober});
  builder.input(prober).directory("/").caller_environment({});
  // A network of its own costs more than all the rest, and the prober asks for none.
  builder.network({.mode = NetworkPolicy::Mode::Host});
  for (const Declaration& declaration : asked.declarations) builder.declare(declaration);
  builder.strict_outputs(asked.strict_outputs);
  builder.identity(asked.identity_root ? Identity::Root : Identity::Builder);
  return builder;
}

inline std::string_view word_for(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::Directory: return "directory";
    case Node::Kind::File: return "file";
    case Node::Kind::Link: return "link";
    case Node::Kind::HardLink: return "hard link";
    case Node::Kind::Alias: return "bind mount";
  }
  return "";
}

// The tree as a list, the spec as a spec file.
inline std::string print_case(const Case& asked) {
  std::string text = fmt::format("  directory {}\n", asked.root());
  for (const Node& node : asked.nodes)
    text += fmt::format("  {} {}{}{}\n", word_for(node.kind), node.path,
                        node.target.empty() ? "" : " -> ", node.target);
  for (const TreeKind kind : {TreeKind::Input, TreeKind::Output, TreeKind::Temp}) {
    text += fmt::format("  {}s:\n", to_string(kind));
    for (const Declaration& declaration : asked.declarations) {
      if (declaration.kind != kind) continue;
      text += fmt::format("    - {{path: \"{}\"", declaration.path);
      if (!declaration.at.empty()) text += fmt::format(", at: \"{}\"", declaration.at);
      if (!declaration.exceptions.empty())
        text += fmt::format(", except: [\"{}\"]", fmt::join(declaration.exceptions, "\", \""));
      if (!declaration.over.empty())
        text += fmt::format(", over: \"{}\"", declaration.over.front());
      if (kind == TreeKind::Output)
        text += fmt::format(", publish: {}", to_string(declaration.publish));
      if (declaration.made_by_command) text += ", made_by: command";
      if (declaration.type != FileType::Unknown)
        text += fmt::format(", type: {}", to_string(declaration.type));
      text += "}\n";
    }
  }
  text += fmt::format("  strict_outputs: {}\n  identity: {}\n", asked.strict_outputs,
                      asked.identity_root ? "root" : "builder");
  text += fmt::format("  # {} mount calls, Landlock {}\n", asked.classic_mounts ? "classic" : "new",
                      asked.landlock ? "on" : "off");
  return text;
}

}  // namespace hermetic::differential
