#include "hermetic/learn/lacking.h"

#include <sys/stat.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "hermetic/base/path.h"
#include "hermetic/learn/rules.h"

namespace hermetic {
namespace {

using Names = std::set<std::string, std::less<>>;

// Did the run make it itself, or something above it?
bool is_own(std::string_view path, const Names& written) {
  for (; path != "/"; path = parent_of(path))
    if (written.find(path) != written.end()) return true;
  return false;
}

bool is_lacking(const Spec& spec, const AskedPath& asked, const Names& written) {
  if (is_built_in(asked.path)) return false;
  const Decision decision = spec.decide(asked.path, asked.operation);
  // A temp that starts empty hides what the host has there.
  const bool hides = decision.tree != nullptr &&
                     decision.tree->declaration.kind == TreeKind::Temp &&
                     decision.tree->declaration.over.empty();
  if (decision.allowed && (!hides || is_own(asked.path, written))) return false;
  struct stat status = {};
  const bool exists = ::stat(asked.path.c_str(), &status) == 0;
  if (asked.operation == Operation::Write) {
    const bool made_again = exists && S_ISDIR(status.st_mode) && !asked.replaced;  // mkdir -p
    return !decision.allowed && !made_again;
  }
  if (!exists) return false;
  return !S_ISDIR(status.st_mode) || (asked.opened && !decision.allowed);
}

}  // namespace

std::vector<AskedPath> lacking(const Spec& spec, const std::vector<AskedPath>& asked) {
  Names written;
  for (const AskedPath& one : asked)
    if (one.operation == Operation::Write) written.insert(one.path);
  std::vector<AskedPath> list;
  for (const AskedPath& one : asked)
    if (is_lacking(spec, one, written)) list.push_back(one);
  return list;
}

}  // namespace hermetic
