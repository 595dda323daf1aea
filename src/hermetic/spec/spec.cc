#include "hermetic/spec/spec.h"

#include <algorithm>

#include "hermetic/base/digest.h"
#include "hermetic/spec/builtin_view.h"
#include "hermetic/spec/lookup.h"

namespace hermetic {
namespace {

bool allows(TreeKind kind, Operation operation, bool strict_outputs) {
  switch (kind) {
    case TreeKind::Input: return operation != Operation::Write;
    case TreeKind::Output: return operation == Operation::Write || !strict_outputs;
    case TreeKind::Temp: return true;
  }
  return false;
}

// What a sandbox's own /dev and /proc allow. Only what programs may rely on: /proc's many other
// files are the kernel's business.
bool built_in_allows(std::string_view path, Operation operation) {
  if (is_within(path, kSharedMemory)) return true;
  if (is_within(path, kProcesses)) return operation != Operation::Write;
  if (path == kDevices || path == kPseudoTerminals || path == "/dev/fd")
    return operation != Operation::Write;
  const bool device =
      std::find(kDeviceFiles.begin(), kDeviceFiles.end(), path) != kDeviceFiles.end();
  // What is open already can be opened again, as far as it is open.
  const bool open = is_within(path, "/dev/fd") ||
                    std::any_of(kDeviceLinks.begin(), kDeviceLinks.end(),
                                [&](const BuiltInLink& link) { return path == link.path; });
  return (device || open || is_within(path, kPseudoTerminals)) && operation != Operation::Execute;
}

bool is_synthetic(std::string_view path) {
  return std::find(kSyntheticFiles.begin(), kSyntheticFiles.end(), path) != kSyntheticFiles.end();
}

}  // namespace

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::Read: return "read";
    case Operation::Write: return "write";
    case Operation::Execute: return "execute";
  }
  return "";
}

std::string Spec::follow_links(std::string_view path) const {
  std::string current(path);
  for (int followed = 0; followed < kMostLinks; ++followed) {
    const auto hit = index_->link_targets.nearest(current);
    if (!hit) break;
    current = join(*hit->value, relative_to(current, hit->path));
  }
  return current;
}

// A right to list a directory is one to list all below it, so that a directory that may lead to a
// strict output has none of its own. Inside an input or a temp it has theirs.
bool Spec::can_list_on_the_way(std::string_view path) const {
  bool listed = !strict_outputs;
  index_->places.for_each_above(path, [&](const std::vector<std::size_t>& trees_here) {
    for (const std::size_t number : trees_here)
      listed = listed || index_->trees[number].declaration.kind != TreeKind::Output;
  });
  return listed;
}

Decision Spec::decide(std::string_view asked, Operation operation) const {
  Decision decision;
  decision.path = follow_links(asked);
  const std::string& path = decision.path;
  const auto by = [&](Decision::Because because, bool allowed) {
    decision.because = because;
    decision.allowed = allowed;
    return decision;
  };

  if (is_within(path, kDevices) || is_within(path, kProcesses))
    return by(Decision::Because::BuiltIn, built_in_allows(path, operation));

  const auto hit = index_->rules.nearest(path);
  const std::optional<Index::Rule> rule = hit ? *hit->value : std::nullopt;
  if (rule) decision.tree = &index_->trees[rule->tree];
  if (rule && !rule->excepted)
    return by(Decision::Because::Declared,
              allows(decision.tree->declaration.kind, operation, strict_outputs));
  if (is_synthetic(path)) return by(Decision::Because::BuiltIn, operation == Operation::Read);
  if (path == "/" || path == "/etc" || index_->places.has_below(path))
    return by(Decision::Because::OnTheWay,
              operation == Operation::Execute ||
                  (operation == Operation::Read && can_list_on_the_way(path)));
  return by(rule ? Decision::Because::Excepted : Decision::Because::Undeclared, false);
}

bool Spec::can_read(std::string_view path) const { return decide(path, Operation::Read).allowed; }
bool Spec::can_write(std::string_view path) const { return decide(path, Operation::Write).allowed; }

bool Spec::can_reach(std::string_view host, std::uint16_t port) const {
  return network.can_reach(host, port);
}

bool Spec::has_env(std::string_view name) const {
  return index_->variables.find(std::string(name)) != index_->variables.end();
}

std::string Spec::digest() const { return sha256(canonical()); }

}  // namespace hermetic
