// hermetic diff: what differs between two runs, and why.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "hermetic/base/text.h"
#include "hermetic/record/evidence_diff.h"

namespace hermetic::cli {
namespace {

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 200;
  if (text.empty()) return "(not there)";
  return printable(text.size() > kMost ? text.substr(0, kMost) + "…" : text);
}

std::string as_text(const EvidenceDiff& diff) {
  if (diff.same()) return fmt::format("the runs are the same: sha256:{}\n", diff.first_digest);
  std::string text = "the runs differ\n";
  for (const std::string& reason : diff.reasons)
    text += fmt::format("  why: {}\n", printable(reason));
  for (const Difference& difference : diff.differences)
    text += fmt::format("{}\n  - {}\n  + {}\n", printable(difference.what),
                        shortened(difference.first), shortened(difference.second));
  return text;
}

}  // namespace

const Subcommand& diff_description() {
  static const Subcommand description{
      .name = "diff",
      .synopsis = "DIR DIR [--json]",
      .summary = "Says what differs between two runs, out of their evidence, and why.",
      .options = {{"--json", "", "print JSON"}, {"--help", "", "show this help"}}};
  return description;
}

int diff_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(diff_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(diff_description())), kSuccess;
  if (arguments->words.size() != 2 || !arguments->command.empty())
    return report(invalid("'hermetic diff' takes two folders of evidence"));
  const Result<EvidenceDiff> diff =
      diff_evidence(arguments->words.front(), arguments->words.back());
  if (!diff) return report(diff.error());
  print(arguments->has("--json") ? diff_as_json(*diff) : as_text(*diff));
  return diff->same() ? kSuccess : kNo;
}

}  // namespace hermetic::cli
