// Random specs in a small world of paths, and what they mean by definition.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {

// Every path that a declaration may name in these tests.
inline const std::vector<std::string>& declarable_paths() {
  static const std::vector<std::string> paths = {
      "/a",     "/a!",     "/b",       "/a/a",     "/a/a!",    "/a/b",       "/a!/a",  "/a!/b",
      "/b/a",   "/a/a/a",  "/a/a/b",   "/a/b/a",   "/a!/a/a!", "/a/a/a/a",   "/",      "/tmp",
      "/tmp/a", "/tmp/a!", "/tmp/a/a", "/tmp/a/b", "/etc",     "/etc/hosts", "/etc/a", "/etc/a/b",
  };
  return paths;
}

// Every path that is asked about: the above, what lies around them, and the built-in trees.
inline const std::vector<std::string>& asked_paths() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> all = declarable_paths();
    for (const std::string& path : declarable_paths())
      for (const char* name : {"a", "b", "x"}) all.push_back(join(path, name));
    for (const char* path :
         {"/dev", "/dev/null", "/dev/shm/x", "/dev/pts", "/dev/pts/0", "/dev/stdout", "/dev/fd",
          "/dev/fd/3", "/dev/sda", "/dev/tty", "/proc", "/proc/self", "/sys", "/sys/class",
          "/etc/passwd", "/etc/group", "/etc/shadow", "/usr"})
      all.emplace_back(path);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return paths;
}

// Those, and every name in either space at which one of the declarations begins or ends.
inline std::vector<std::string> paths_to_ask(const std::vector<Declaration>& declarations) {
  std::vector<std::string> paths = asked_paths();
  for (const Declaration& declaration : declarations) {
    const std::string& place = declared_place(declaration);
    paths.push_back(place);
    paths.push_back(declaration.path);
    for (const std::string& hole : declaration.exceptions) {
      paths.push_back(hole);
      paths.push_back(join(declaration.path, relative_to(hole, place)));
    }
  }
  return paths;
}

// Exceptions are names inside then. What is written cannot be all.
inline void place(Declaration& declaration, const std::string& at) {
  if (at == "/" && declaration.kind != TreeKind::Input) return;
  for (std::string& hole : declaration.exceptions)
    hole = join(at, relative_to(hole, declaration.path));
  if (declaration.kind == TreeKind::Temp) declaration.path = at;
  declaration.at = at;
}

// In both spaces.
inline void carve_out(const Declaration& inner, Declaration& outer) {
  const std::string& place = declared_place(outer);
  if (is_strictly_within(declared_place(inner), place))
    outer.exceptions.push_back(declared_place(inner));
  const bool objects = inner.kind != TreeKind::Temp && outer.kind != TreeKind::Temp;
  if (objects && is_strictly_within(inner.path, outer.path))
    outer.exceptions.push_back(join(place, relative_to(inner.path, outer.path)));
}

// Makes declarations from numbers, of which smaller ones are simpler. Half of them carve out what
// others declare inside them, as people do; the rest mostly collide.
inline std::vector<Declaration> declarations_from(const std::vector<std::uint32_t>& numbers) {
  std::vector<Declaration> declarations;
  int line = 0;
  for (std::uint32_t number : numbers) {
    const auto take = [&](std::uint32_t end) { return std::exchange(number, number / end) % end; };
    const auto& paths = declarable_paths();
    Declaration declaration;
    declaration.path = paths[take(static_cast<std::uint32_t>(paths.size()))];
    constexpr std::array kKinds = {TreeKind::Input, TreeKind::Output, TreeKind::Temp};
    declaration.kind = declaration.path == "/" ? TreeKind::Input : kKinds[take(3)];
    if (declaration.kind == TreeKind::Output && take(4) == 3)
      declaration.publish = Publish::InPlace;
    const bool carve = take(2) == 0;
    for (std::uint32_t count = take(3); count > 0; --count) {
      const std::string& hole = paths[take(static_cast<std::uint32_t>(paths.size()))];
      if (is_strictly_within(hole, declaration.path)) declaration.exceptions.push_back(hole);
    }
    if (take(3) == 2) place(declaration, paths[take(static_cast<std::uint32_t>(paths.size()))]);
    if (carve) declaration.exceptions.emplace_back("carve");
    declaration.origin = {"spec.yaml", ++line, 1};
    declarations.push_back(std::move(declaration));
  }
  for (Declaration& declaration : declarations)
    if (std::erase(declaration.exceptions, "carve") != 0)
      for (const Declaration& other : declarations)
        if (other.kind != declaration.kind) carve_out(other, declaration);
  return declarations;
}

inline SpecBuilder builder_of(const std::vector<Declaration>& declarations) {
  SpecBuilder builder({"true"});
  for (const Declaration& declaration : declarations) builder.declare(declaration);
  builder.caller_environment({}).lookup(look_up_by_name);
  return builder;
}

// What declarations mean, straight from their definition: every question looks at all of them.
class SpecModel {
 public:
  SpecModel(std::vector<Declaration> declarations, bool strict_outputs)
      : declarations_(std::move(declarations)), strict_outputs_(strict_outputs) {
    // Under a root of its own all that is written stands without being carved out.
    for (Declaration& root : declarations_)
      for (const Declaration& other : declarations_)
        if (root.at == "/" && other.kind != TreeKind::Input)
          root.exceptions.push_back(declared_place(other));
  }

  // By names inside.
  static bool holds(const Declaration& declaration, std::string_view path) {
    return is_within(path, declared_place(declaration)) &&
           std::none_of(declaration.exceptions.begin(), declaration.exceptions.end(),
                        [&](const std::string& hole) { return is_within(path, hole); });
  }

  // By names of the host.
  static bool holds_on_host(const Declaration& declaration, std::string_view path) {
    return declaration.kind != TreeKind::Temp && is_within(path, declaration.path) &&
           holds(declaration,
                 join(declared_place(declaration), relative_to(path, declaration.path)));
  }

  // A path that two declarations hold of which not both are inputs; or a tree declared twice.
  [[nodiscard]] bool is_disjoint() const {
    const std::vector<std::string> paths = paths_to_ask(declarations_);
    for (const Declaration& a : declarations_)
      for (const Declaration& b : declarations_) {
        if (&a == &b) continue;
        if (a.kind == b.kind && declared_place(a) == declared_place(b)) return false;
        if (a.kind == TreeKind::Input && b.kind == TreeKind::Input) continue;
        for (const std::string& path : paths)
          if ((holds(a, path) && holds(b, path)) ||
              (holds_on_host(a, path) && holds_on_host(b, path)))
            return false;
      }
    return true;
  }

  struct Answer {
    bool allowed = false;
    Decision::Because because = Decision::Because::Undeclared;
    std::string root;  // of the tree that decides
    std::optional<TreeKind> kind;
  };

  [[nodiscard]] Answer decide(std::string_view path, Operation operation) const {
    using Because = Decision::Because;
    if (is_within(path, "/dev") || is_within(path, "/proc"))
      return {built_in_allows(path, operation), Because::BuiltIn, "", {}};
    const std::vector<Declaration> all = with_built_in_trees();
    const Declaration* holder = holder_of(all, path);
    if (holder != nullptr)
      return {allows(holder->kind, operation), Because::Declared, declared_place(*holder),
              holder->kind};
    if (path == "/etc/passwd" || path == "/etc/group" || path == "/etc/hosts")
      return {operation == Operation::Read, Because::BuiltIn, "", {}};
    const bool on_the_way =
        path == "/" || path == "/etc" || std::any_of(all.begin(), all.end(), [&](const auto& tree) {
          return is_strictly_within(declared_place(tree), path);
        });
    if (on_the_way) {
      const bool listed =
          !strict_outputs_ || std::any_of(all.begin(), all.end(), [&](const auto& tree) {
            return tree.kind != TreeKind::Output && is_within(path, declared_place(tree));
          });
      const bool allowed =
          operation == Operation::Execute || (operation == Operation::Read && listed);
      return {allowed, Because::OnTheWay, "", {}};
    }
    const Declaration* excepting =
        deepest(all, [&](const auto& tree) { return is_within(path, declared_place(tree)); });
    if (excepting != nullptr) return {false, Because::Excepted, declared_place(*excepting), {}};
    return {};
  }

 private:
  template <class Predicate>
  static const Declaration* deepest(const std::vector<Declaration>& all, Predicate predicate) {
    const Declaration* best = nullptr;
    for (const Declaration& tree : all)
      if (predicate(tree) &&
          (best == nullptr || declared_place(tree).size() > declared_place(*best).size()))
        best = &tree;
    return best;
  }

  // What stands deepest hides the rest, but for an input that shows what would stand there anyway:
  // what one of them leaves out the other still shows.
  static const Declaration* holder_of(const std::vector<Declaration>& all, std::string_view path) {
    const Declaration* top =
        deepest(all, [&](const auto& tree) { return is_within(path, declared_place(tree)); });
    while (top != nullptr && !holds(*top, path)) {
      const std::string& place = declared_place(*top);
      const Declaration* around = deepest(all, [&](const auto& tree) {
        return is_within(path, declared_place(tree)) && declared_place(tree).size() < place.size();
      });
      const bool same =
          around != nullptr && around->kind == TreeKind::Input && top->kind == TreeKind::Input &&
          join(around->path, relative_to(place, declared_place(*around))) == top->path;
      top = same ? around : nullptr;
    }
    return top;
  }

  // Inputs do not show the host's /dev, /proc, /sys and /tmp, unless these are declared themselves;
  // /tmp is a temp of every spec, but for what is declared in it.
  [[nodiscard]] std::vector<Declaration> with_built_in_trees() const {
    std::vector<Declaration> all = declarations_;
    Declaration tmp{.kind = TreeKind::Temp, .path = "/tmp"};
    bool own_tmp = true;
    for (Declaration& tree : all) {
      const std::string& place = declared_place(tree);
      if (place == "/tmp") own_tmp = false;
      if (is_strictly_within(place, "/tmp")) tmp.exceptions.push_back(place);
      if (tree.kind != TreeKind::Input) continue;
      for (const char* reserved : {"/dev", "/proc", "/sys", "/tmp"}) {
        if (is_strictly_within(reserved, place)) tree.exceptions.emplace_back(reserved);
        if (is_strictly_within(reserved, tree.path))
          tree.exceptions.push_back(join(place, relative_to(reserved, tree.path)));
      }
      // A root of its own does not say who the command is.
      if (tree.at == "/")
        for (const char* file : {"/etc/passwd", "/etc/group", "/etc/hosts"})
          tree.exceptions.emplace_back(file);
    }
    if (own_tmp) all.push_back(std::move(tmp));
    return all;
  }

  [[nodiscard]] bool allows(TreeKind kind, Operation operation) const {
    if (kind == TreeKind::Temp) return true;
    if (kind == TreeKind::Input) return operation != Operation::Write;
    return operation == Operation::Write || !strict_outputs_;
  }

  static bool built_in_allows(std::string_view path, Operation operation) {
    if (path == "/dev/shm/x") return true;
    for (const char* file : {"/dev/null", "/dev/tty", "/dev/pts/0", "/dev/stdout", "/dev/fd/3"})
      if (path == file) return operation != Operation::Execute;
    for (const char* directory : {"/dev", "/dev/pts", "/dev/fd"})
      if (path == directory) return operation != Operation::Write;
    if (path.starts_with("/proc")) return operation != Operation::Write;
    return false;
  }

  std::vector<Declaration> declarations_;
  bool strict_outputs_;
};

}  // namespace hermetic
