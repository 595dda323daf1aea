#include "hermetic/learn/lacking.h"

#include <sys/stat.h>

#include "hermetic/base/path.h"
#include "hermetic/learn/rules.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic {
namespace {

bool is_lacking(const Spec& spec, const AskedPath& asked) {
  if (is_built_in(asked.path)) return false;
  const Decision decision = spec.decide(asked.path, asked.operation);
  const bool own_tmp = decision.tree != nullptr && decision.tree->built_in;
  if (decision.allowed && !own_tmp) return false;
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
  std::vector<AskedPath> list;
  for (const AskedPath& one : asked)
    if (is_lacking(spec, one)) list.push_back(one);
  return list;
}

}  // namespace hermetic
