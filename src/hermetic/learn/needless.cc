#include "hermetic/learn/needless.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/rules.h"

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
  const std::string& top = decision.tree->found.real_path;
  if (!is_strictly_within(decision.path, top)) {
    use.itself = true;
    return;
  }
  const std::string_view rest = relative_to(decision.path, top);
  use.parts.emplace(rest.substr(0, rest.find('/')));
}

}  // namespace

std::vector<Needless> needless(const Spec& spec, const std::vector<SeenPath>& seen) {
  Uses uses;
  for (const SeenPath& one : seen)
    if (one.is_needed() || one.written) note_use(spec, one, uses);
  std::vector<Needless> list;
  for (const Tree& tree : spec.trees()) {
    if (tree.built_in) continue;
    const std::string what =
        fmt::format("{} {}", to_string(tree.declaration.kind), printable(tree.declaration.path));
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
      used += (used.empty() ? "" : ", ") + printable(join(tree.declaration.path, part));
    list.push_back({what, fmt::format("only this was used of it: {}", used)});
  }
  return list;
}

}  // namespace hermetic
