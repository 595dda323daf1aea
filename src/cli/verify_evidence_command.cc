// hermetic verify-evidence: is a folder of evidence what it was when it was written?
#include <fmt/format.h>

#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "hermetic/base/text.h"
#include "hermetic/record/evidence_check.h"

namespace hermetic::cli {
namespace {

std::string as_text(const EvidenceCheck& check, const std::string& folder) {
  std::string text;
  for (const std::string& failure : check.failures) text += fmt::format("FAILED  {}\n", failure);
  if (!check.stable_digest.empty())
    text += fmt::format("identity    sha256:{}  ({})\n", check.stable_digest, check.stable_file);
  std::string signatures = "none is signed";
  if (check.key_was_given)
    signatures = check.failures.empty() ? "all signed by the given key" : "see above";
  else if (!check.signers.empty())
    signatures =
        fmt::format("signed, not checked: give --key for {}", fmt::join(check.signers, ", "));
  text += fmt::format("statements  {}, {}\nfiles       {}\n", check.statements, signatures,
                      check.files);
  return text + fmt::format("{}: {}\n", printable(folder),
                            check.failures.empty() ? "the evidence holds" : "it does NOT hold");
}

}  // namespace

const Subcommand& verify_evidence_description() {
  static const Subcommand description{
      .name = "verify-evidence",
      .synopsis = "DIR [OPTION]...",
      .summary = "Checks every digest and signature in a folder of evidence, offline.",
      .options = {{"--key", "FILE", "the public key by which every statement must be signed"},
                  {"--json", "", "print JSON"},
                  {"--help", "", "show this help"}}};
  return description;
}

int verify_evidence_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(verify_evidence_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(verify_evidence_description())), kSuccess;
  if (arguments->words.size() != 1 || !arguments->command.empty())
    return report(invalid("'hermetic verify-evidence' takes one folder"));
  std::optional<PublicKey> key;
  if (arguments->has("--key")) {
    Result<PublicKey> given = PublicKey::from_file(arguments->last("--key"));
    if (!given) return report(given.error());
    key = std::move(*given);
  }
  const std::string& folder = arguments->words.front();
  const Result<EvidenceCheck> check = check_evidence(folder, key ? &*key : nullptr);
  if (!check) return report(check.error());
  print(arguments->has("--json") ? check_as_json(*check) : as_text(*check, folder));
  return check->failures.empty() ? kSuccess : kNo;
}

}  // namespace hermetic::cli
