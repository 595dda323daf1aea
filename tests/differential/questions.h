// What is asked about a case, and what decide() says the kernel has to answer.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/spec.h"
#include "tests/differential/case.h"

namespace hermetic::differential {

// One question for the prober, and the answer that it must give. `change` asks for every way of
// changing a path that is no Operation, and only where writing is denied; `move` asks for moving a
// writable directory that such a path lies in.
struct Question {
  std::string verb;  // "read", "write", "execute", "change", "move"
  std::string path;
  std::string leads_to;  // `path` after all links; what was decided upon
  bool allowed = false;
  bool may_be_absent = false;  // allowed, but it is right that nothing is there
  std::string reason;          // "input", "output", "on the way"…
};

inline bool on_host(const std::string& path, struct stat* status = nullptr) {
  struct stat unused = {};
  return ::lstat(path.c_str(), status == nullptr ? &unused : status) == 0;
}

// The command's file system as decide() describes it. decide() is about names and knows no files;
// where a tree of the host is shown, the host says what is there.
class Model {
 public:
  explicit Model(const Spec& spec) : spec_(spec) {}

  struct Leads {
    std::string path;         // no part of it is a link that can be seen inside
    bool undeclared = false;  // a link was followed that the spec does not know of
    bool dangling = false;    // the target of a link does not exist inside
    bool endless = false;
  };

  [[nodiscard]] Leads follow(std::string_view text) const {
    Leads leads{.path = "/"};
    int budget = 40;
    walk(leads, text, budget);
    return leads;
  }

  [[nodiscard]] Question question(const std::string& verb, Operation operation,
                                  const std::string& path, const std::string& leads_to) const {
    const Decision decision = spec_.decide(leads_to, operation);
    return {.verb = verb,
            .path = path,
            .leads_to = leads_to,
            .allowed = decision.allowed,
            .may_be_absent = may_be_absent(decision, leads_to),
            .reason = reason_of(decision)};
  }

  // The nearest directory around a path that must not change which could be moved, with that path
  // in it; "" if there is none.
  [[nodiscard]] std::string movable_above(const std::string& path) const {
    if (spec_.decide(path, Operation::Write).allowed) return "";
    for (std::string_view above = parent_of(path); above != "/"; above = parent_of(above)) {
      const Decision decision = spec_.decide(above, Operation::Write);
      const bool root = decision.tree != nullptr && decision.tree->place == above;
      if (decision.because != Decision::Because::BuiltIn && decision.allowed && !root)
        return std::string(above);
    }
    return "";
  }

  // Is it a file of the host whose own mode forbids to execute it? That is not the spec's business.
  [[nodiscard]] bool is_no_program(const std::string& path) const {
    struct stat status = {};
    const Decision decision = spec_.decide(path, Operation::Read);
    return shows_host(decision) && on_host(host_name(*decision.tree, path), &status) &&
           S_ISREG(status.st_mode) && (status.st_mode & 0111U) == 0;
  }

 private:
  static bool shows_host(const Decision& decision) {
    return decision.because == Decision::Because::Declared &&
           (decision.tree->declaration.kind == TreeKind::Input ||
            decision.tree->declaration.publish == Publish::InPlace);
  }

  // What the host has for a path inside, where it is shown or copied; "" elsewhere.
  static std::string source_of(const Decision& decision, const std::string& path) {
    if (shows_host(decision)) return host_name(*decision.tree, path);
    if (!is_copied(decision)) return "";
    return join(decision.tree->over.front().real_path, relative_to(path, decision.tree->place));
  }
  static bool is_copied(const Decision& decision) {
    return decision.because == Decision::Because::Declared && !decision.tree->over.empty();
  }

  static std::string reason_of(const Decision& decision) {
    switch (decision.because) {
      case Decision::Because::Declared:
        return decision.tree->declaration.publish == Publish::InPlace ? "in place"
               : is_copied(decision)                                  ? "copy"
                                     : std::string(to_string(decision.tree->declaration.kind));
      case Decision::Because::BuiltIn: return "built in";
      case Decision::Because::OnTheWay: return "on the way";
      case Decision::Because::Excepted: return "excepted";
      case Decision::Because::Undeclared: return "undeclared";
    }
    return "";
  }

  // Nothing can be made where an input has nothing, nor below a file; everywhere else the prober
  // makes what is missing.
  static bool may_be_absent(const Decision& decision, const std::string& path) {
    if (decision.because != Decision::Because::Declared) return false;
    const Declaration& declaration = decision.tree->declaration;
    if (declaration.kind == TreeKind::Input) return !on_host(host_name(*decision.tree, path));
    const std::string& root = decision.tree->place;
    if (declaration.publish != Publish::InPlace && !is_copied(decision)) {
      const bool exists = decision.tree->found.exists();
      const FileType type = exists ? decision.tree->found.type : declaration.type;
      return type == FileType::File && path != root;
    }
    for (std::string_view above = path; above != root;) {
      above = parent_of(above);
      struct stat status = {};
      if (on_host(source_of(decision, std::string(above)), &status) && !S_ISDIR(status.st_mode))
        return true;
    }
    return false;
  }

  [[nodiscard]] bool exists_inside(const std::string& path) const {
    const Decision decision = spec_.decide(path, Operation::Read);
    if (decision.because == Decision::Because::Declared &&
        decision.tree->declaration.made_by_command)
      return false;
    const std::string source = source_of(decision, path);
    if (shows_host(decision) || (!source.empty() && on_host(source))) return on_host(source);
    if (decision.because == Decision::Because::OnTheWay ||
        decision.because == Decision::Because::BuiltIn)
      return true;
    const auto leads_there = [&](const auto& item) { return is_within(item, path); };
    return std::any_of(spec_.trees().begin(), spec_.trees().end(),
                       [&](const Tree& tree) { return leads_there(tree.place); }) ||
           std::any_of(spec_.links().begin(), spec_.links().end(),
                       [&](const Link& link) { return leads_there(link.path); });
  }

  // Links beside what the command makes stand in the private directory, too.
  static bool is_copied_link(const Decision& decision, const std::string& path) {
    if (decision.because != Decision::Because::Declared || !decision.tree->built_in) return false;
    for (const ShownDirectory& listing : decision.tree->listings)
      for (const Child& child : listing.children)
        if (child.link && join(listing.place, child.name) == path) return true;
    return false;
  }

  // The text of the link that stands at `path` inside.
  std::optional<std::string> link_at(const std::string& path, bool& undeclared) const {
    for (const Link& link : spec_.links())
      if (link.path == path) return link.target;
    const Decision decision = spec_.decide(path, Operation::Read);
    const std::string source = is_copied_link(decision, path) ? path : source_of(decision, path);
    if (source.empty()) return std::nullopt;
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlink(source.c_str(), text.data(), text.size());
    if (size < 0) return std::nullopt;
    undeclared = true;
    return std::string(text.data(), static_cast<std::size_t>(size));
  }

  void walk(Leads& leads, std::string_view text, int& budget) const {
    if (text.starts_with('/')) leads.path = "/";
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('/'), text.size());
      const std::string name(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        leads.path = parent_of(leads.path);
        continue;
      }
      const std::string next = join(leads.path, name);
      const std::optional<std::string> target = link_at(next, leads.undeclared);
      if (!target) {
        leads.path = next;
        continue;
      }
      if (--budget < 0) {
        leads.endless = true;
        return;
      }
      walk(leads, *target, budget);
      if (leads.endless) return;
      leads.dangling = leads.dangling || !exists_inside(leads.path);
    }
  }

  const Spec& spec_;
};

// Where decide() alone contradicts itself: a path and where its links lead must be decided alike.
struct Questions {
  std::vector<Question> all;
  std::vector<std::string> contradictions;
};

inline void ask_about(const Spec& spec, const std::string& path, Questions& questions) {
  const Model model(spec);
  const Model::Leads leads = model.follow(path);
  if (leads.endless) return;
  // Nothing can be made through a link that leads nowhere: then its target is asked about.
  const std::string& name = leads.dangling ? leads.path : path;
  constexpr std::array kOperations = {Operation::Read, Operation::Write, Operation::Execute};
  for (const Operation operation : kOperations) {
    const Decision decision = spec.decide(path, operation);
    if (!leads.undeclared && decision.allowed != spec.decide(leads.path, operation).allowed)
      questions.contradictions.push_back(
          fmt::format("{} {}, which leads to {}: decide() takes it for {}", to_string(operation),
                      path, leads.path, decision.path));
    if (operation == Operation::Execute && model.is_no_program(leads.path)) continue;
    questions.all.push_back(
        model.question(std::string(to_string(operation)), operation, name, leads.path));
  }
  // The directory of the terminals is the sandbox's own, and root inside may have it its way.
  if (leads.path != kPseudoTerminals && !spec.decide(leads.path, Operation::Write).allowed)
    questions.all.push_back(model.question("change", Operation::Write, leads.path, leads.path));
  if (const std::string above = model.movable_above(leads.path); !above.empty())
    questions.all.push_back({.verb = "move",
                             .path = above,
                             .leads_to = leads.path,
                             .reason = "around " + questions.all.back().reason});
}

}  // namespace hermetic::differential
