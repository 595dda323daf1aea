#include "cli/explanation.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/spec_text.h"

namespace hermetic::cli {
namespace {

constexpr std::size_t kMostLines = 20;

// The path itself, even if a writer is likely to want more of its directory: an output takes the
// place of all that was there.
std::string remedy_for(const DeniedPath& denied) {
  const std::string path = printable(denied.path);
  const std::string in_yaml = yaml_scalar(denied.path);
  if (denied.operation != Operation::Write)
    return fmt::format("--input {}, or in a spec: inputs: [{}]", path, in_yaml);
  return fmt::format(
      "--output {0} (published) or --temp {0} (thrown away), or in a spec: outputs: [{1}] or "
      "temps: [{1}]",
      path, in_yaml);
}

}  // namespace

std::string explain_denied(const Outcome& outcome, const Redaction& redaction) {
  if (outcome.denied.empty()) return "";
  std::string text = "the command asked for paths that are not declared:\n";
  const std::size_t shown = std::min(kMostLines, outcome.denied.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const DeniedPath& denied = outcome.denied[i];
    text += fmt::format("  {}\n", denied.rule);
    if (!denied.by.empty()) text += fmt::format("    asked for by {}\n", printable(denied.by));
    text += fmt::format("    to allow it: {}\n", remedy_for(denied));
  }
  if (const std::uint64_t more = outcome.denied.size() - shown + outcome.more_denied; more != 0)
    text += fmt::format("  and {} more\n", more);
  text.pop_back();  // the printer ends the line
  return redaction.clean(text);
}

}  // namespace hermetic::cli
