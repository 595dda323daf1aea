#include "hermetic/plan/host_names.h"

#include <fmt/format.h>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

Error cannot_stand(const std::string& source, const std::string& path) {
  return unsupported(fmt::format("without a sandbox, '{}' cannot stand at '{}'", printable(source),
                                 printable(path)),
                     "leave 'at' and 'root' out, or run it in a sandbox");
}

}  // namespace

Result<void> check_names_are_of_host(const Plan& plan) {
  for (const ViewEntry& entry : plan.view) {
    if (!entry.source.empty() && entry.source != entry.path)
      return cannot_stand(entry.source, entry.path);
    if (entry.path == "/" && !entry.over.empty())
      return cannot_stand(entry.over.front().source, entry.path);
  }
  for (const Publication& publication : plan.publications)
    if (publication.destination != publication.path)
      return cannot_stand(publication.destination, publication.path);
  return {};
}

}  // namespace hermetic
