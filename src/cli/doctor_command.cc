// hermetic doctor: which promises this host can keep, found by trying them in a real sandbox.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/doctor_probes.h"
#include "cli/doctor_trials.h"
#include "cli/exit_code.h"
#include "hermetic/record/examination.h"

namespace hermetic::cli {
namespace {

using Row = Examination::Row;

std::string describe(const Row& row) {
  const Capability& capability = row.capability;
  if (row.tried && !row.tried->held) return "TRIED AND BROKEN: " + row.tried->detail;
  if (capability.strength == Strength::Enforced)
    return capability.mechanism +
           (row.tried ? " (tried: " + row.tried->detail + ")" : " (not tried)");
  return capability.reason + (capability.remedy.empty() ? "" : "; " + capability.remedy);
}

std::string as_text(const Examination& examination, Color color) {
  std::string text;
  for (const auto& [name, value] : examination.facts)
    text += fmt::format("{:<28} {}\n", name, value);
  text += '\n';
  for (const Row& row : examination.rows) {
    const bool broken = row.tried && !row.tried->held;
    const std::string_view word = broken ? "BROKEN" : to_string(row.capability.strength);
    const std::string_view code =
        broken || row.capability.strength == Strength::Absent ? "31" : "32";
    const std::string mark = fmt::format("{:<9}", word);
    text +=
        fmt::format("{} {:<26} {}\n",
                    color == Color::Always ? fmt::format("\x1b[{}m{}\x1b[0m", code, mark) : mark,
                    to_string(row.clause), describe(row));
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> facts_of_host() {
  utsname system = {};
  ::uname(&system);
  return {{"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"machine", system.machine},
          {"user", ::geteuid() == 0 ? "root" : fmt::format("uid {}", ::geteuid())},
          {"recursive read-only", try_recursive_read_only()}};
}

}  // namespace

const Subcommand& doctor_description() {
  static const Subcommand description{
      .name = "doctor",
      .synopsis = "[--json]",
      .summary = "Shows which promises this host can keep, found by trying them.",
      .options = {{"--json", "", "print JSON"},
                  {"--color", "WHEN", "auto (default), always or never"},
                  {"--inside", "DIRECTORY", "used by doctor itself, inside its trial sandbox"},
                  {"--act", "NAME", "the same: what to try there"},
                  {"--help", "", "show this help"}}};
  return description;
}

int doctor_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(doctor_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(doctor_description())), kSuccess;
  if (arguments->has("--inside")) {
    print(run_probes(arguments->last("--inside"), arguments->last("--act")));
    // Where no process can be started, a sanitizer's exit handler would be the one that fails.
    std::_Exit(kSuccess);
  }
  Result<std::unique_ptr<Backend>> backend = backend_named("");
  if (!backend) return report(backend.error());
  const Result<std::map<std::string, ProbeResult>> tried = try_clauses(**backend);
  const Capabilities capabilities = (*backend)->probe();
  Examination examination{.backend = capabilities.backend, .facts = facts_of_host(), .rows = {}};
  bool broken = false;
  for (const Clause clause : all_clauses()) {
    Row row{.clause = clause, .capability = {}, .tried = {}};
    if (const auto found = capabilities.clauses.find(clause); found != capabilities.clauses.end())
      row.capability = found->second;
    if (tried) {
      if (const auto result = tried->find(std::string(to_string(clause))); result != tried->end())
        row.tried = result->second;
    } else if (row.capability.strength == Strength::Enforced) {
      // Without a sandbox nothing of it holds.
      row.capability = {.strength = Strength::Absent,
                        .mechanism = "",
                        .reason = "no sandbox can be made here",
                        .remedy = ""};
    }
    broken = broken || (row.tried && !row.tried->held);
    examination.rows.push_back(std::move(row));
  }
  print(arguments->has("--json")
            ? examination_as_json(examination)
            : as_text(examination, color_for(arguments->last("--color"), STDOUT_FILENO)));
  if (!tried) return report(tried.error());
  return broken ? kFailed : kSuccess;
}

}  // namespace hermetic::cli
