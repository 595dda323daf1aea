#include "hermetic/gate/revision.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/text.h"
#include "hermetic/workspace/repository.h"

namespace hermetic::gate {

Result<std::string> revision_of(const std::string& workspace) {
  const Result<Repository> repository = find_repository({.path = workspace}, Elsewhere::Follow);
  if (repository)
    if (Result<std::string> head = head_of(*repository)) return head;
  return invalid(fmt::format("'{}' is at no commit that can be found", printable(workspace)),
                 "give --sha");
}

Result<void> check_revision(const std::string& revision) {
  const bool plain = std::ranges::all_of(revision, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && !revision.empty() && !revision.starts_with('.') && revision.size() <= 128) return {};
  return invalid(fmt::format("'{}' cannot name a commit", printable(revision)),
                 "use letters, digits, '.', '_' and '-': it names a folder");
}

}  // namespace hermetic::gate
