#include "hermetic/learn/needless.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/rules.h"
#include "hermetic/spec/place.h"

namespace hermetic {
namespace {

struct Use {
  std::set<std::string> parts;  // entries of the tree's own directory
  bool itself = false;          // it was listed, or is a file
};

using Uses = std::map<const Tree*, Use>;

void note_use(const Spec& spec, const SeenPath& seen, Uses& uses) {
  const Operation operation = seen.written    ? Operation::Write
                              : seen.executed ? Operation::Execute
                                              : Operation::Read;
  const Decision decision = spec.decide(seen.path, operation);
  if (!decision.allowed || decision.tree == nullptr) return;
  Use& use = uses[decision.tree];
  const std::string& top = decision.tree->place;
  if (!is_strictly_within(decision.path, top)) {
    use.itself = true;
    return;
  }
  const std::string_view rest = relative_to(decision.path, top);
  use.parts.emplace(rest.substr(0, rest.find('/')));
}

// What stands elsewhere inside is not found on the host under the name that was asked for.
bool is_used_elsewhere(const Spec& spec, const SeenPath& seen) {
  if (!seen.read && !seen.opened && !seen.executed) return false;
  const Decision decision = spec.decide(seen.path, Operation::Read);
  return decision.tree != nullptr && !decision.tree->declaration.at.empty() &&
         is_present(host_name(*decision.tree, decision.path));
}

}  // namespace

std::vector<Needless> needless(const Spec& spec, const std::vector<SeenPath>& seen) {
  Uses uses;
  for (const SeenPath& one : seen)
    if (one.is_needed() || one.written || is_used_elsewhere(spec, one)) note_use(spec, one, uses);
  std::vector<Needless> list;
  for (const Tree& tree : spec.trees()) {
    if (tree.built_in) continue;
    const std::string what = fmt::format("{} {}", to_string(tree.declaration.kind),
                                         printable(declared_place(tree.declaration)));
    const auto use = uses.find(&tree);
    if (use == uses.end()) {
      list.push_back({what, "nothing in it was used"});
      continue;
    }
    const std::set<std::string>& parts = use->second.parts;
    const bool input = tree.declaration.kind == TreeKind::Input;
    if (!input || use->second.itself || parts.empty() || parts.size() > kFewFiles) continue;
    if (tree.found.type != FileType::Directory) continue;
    std::string used;
    for (const std::string& part : parts)
      used += (used.empty() ? "" : ", ") + printable(join(declared_place(tree.declaration), part));
    list.push_back({what, fmt::format("only this was used of it: {}", used)});
  }
  return list;
}

void ReachCollector::on_event(const Event& event) {
  if (event.kind != Event::Kind::Network || event.verdict == Verdict::Deny) return;
  if (event.act == "resolve") {
    names.insert(event.subject);
    return;
  }
  if (!event.endpoint || event.endpoint->address.empty()) return;  // a socket, and nothing more
  anybody = true;
  rules.insert(event.rule.substr(0, event.rule.find(" of ")));
}

namespace {

bool is_needed(const HostRule& rule, const ReachCollector& reached) {
  if (reached.rules.contains(to_string(rule))) return true;
  return std::any_of(reached.names.begin(), reached.names.end(), [&](const std::string& name) {
    return (rule.kind == HostRule::Kind::Name && name == rule.name) ||
           (rule.kind == HostRule::Kind::Wildcard && name.ends_with("." + rule.name));
  });
}

}  // namespace

std::vector<Needless> needless_hosts(const NetworkPolicy& network, const ReachCollector& reached) {
  using Mode = NetworkPolicy::Mode;
  std::vector<Needless> list;
  for (const HostRule& rule : network.hosts)
    if (!is_needed(rule, reached))
      list.push_back({"network " + to_string(rule), "nobody was reached by it"});
  const bool whole = network.mode == Mode::Loopback || network.mode == Mode::Host;
  if (whole && !reached.anybody)
    list.push_back({fmt::format("network {}", to_string(network.mode)),
                    "nobody was reached, and nobody waited to be"});
  return list;
}

std::vector<Needless> needless_variables(const EnvironmentDraft& environment,
                                         const std::set<std::string>& asked) {
  std::vector<Needless> list;
  for (const std::string& name : environment.pass)
    if (!asked.contains(name))
      list.push_back({"environment.pass " + printable(name), "no program was heard asking for it"});
  return list;
}

}  // namespace hermetic
