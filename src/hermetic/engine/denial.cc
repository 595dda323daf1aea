#include "hermetic/engine/denial.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/plan/print.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/place.h"

namespace hermetic {
namespace {

bool leads_to_declared(const Spec& spec, const std::string& path) {
  return std::any_of(spec.trees().begin(), spec.trees().end(), [&](const Tree& tree) {
    return !tree.built_in &&
           (is_within(tree.place, path) || is_within(tree.declaration.path, path));
  });
}

// Is there something for a path inside to be, had the spec allowed it?
bool is_on_host(const Decision& decision, const std::string& path) {
  const bool elsewhere = decision.tree != nullptr && !decision.tree->declaration.at.empty() &&
                         decision.tree->declaration.kind != TreeKind::Temp;
  return is_present(elsewhere ? host_name(*decision.tree, decision.path) : path);
}

// The host has it, but the private /tmp, or a directory in which outputs are made, covers it.
bool is_hidden_by_own_tmp(const Spec& spec, const Decision& decision, const std::string& path) {
  const bool own_tmp = decision.tree != nullptr && decision.tree->built_in;
  return own_tmp && path != decision.tree->found.real_path && is_present(path) &&
         !leads_to_declared(spec, path);
}

}  // namespace

std::string why_denied(const Spec& spec, const AskedPath& asked) {
  const std::string& path = asked.path;
  if (is_within(path, kProcesses) || is_within(path, kDevices)) return "";
  const Decision decision = spec.decide(path, asked.operation);
  const bool writes = asked.operation == Operation::Write;
  if (!writes && is_hidden_by_own_tmp(spec, decision, path))
    return fmt::format("{} is hidden: the sandbox has a {} of its own", printable(path),
                       printable(decision.tree->found.real_path));
  if (decision.allowed) return "";
  // Who makes a directory or a file that is there gets what is there, in the sandbox as outside.
  if (asked.made && spec.decide(path, Operation::Read).allowed && is_on_host(decision, path))
    return "";
  if (!writes && !is_on_host(decision, path)) return "";
  return explain(spec, path, asked.operation);
}

std::function<std::string(const AskedPath& asked)> denials_of(const Spec& spec) {
  return [spec](const AskedPath& asked) { return why_denied(spec, asked); };
}

}  // namespace hermetic
