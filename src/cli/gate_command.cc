// hermetic gate: no step of a pipeline passes that is not hermetic.
#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/event_sinks.h"
#include "cli/exit_code.h"
#include "cli/gate_console.h"
#include "cli/gate_setup.h"
#include "cli/run_evidence.h"
#include "cli/spec_options.h"
#include "cli/stop_signals.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/ci_links.h"
#include "hermetic/gate/gate.h"
#include "hermetic/gate/previous.h"
#include "hermetic/gate/revision.h"
#include "hermetic/record/event_json.h"
#include "hermetic/record/evidence.h"

namespace hermetic::cli {
namespace {

using gate::Policy;

Result<std::string> revision_for(const Arguments& arguments, const std::string& workspace) {
  std::string revision = arguments.last("--sha");
  for (const char* variable : {"GITHUB_SHA", "CI_COMMIT_SHA"})
    if (const char* value = std::getenv(variable); revision.empty() && value != nullptr)
      revision = value;
  if (revision.empty()) revision = TRY(gate::revision_of(workspace));
  TRY(gate::check_revision(revision));
  return revision;
}

Result<std::string> out_dir_for(const Arguments& arguments, const Policy& policy,
                                const std::string& revision) {
  std::string path = arguments.has("--out") ? arguments.last("--out") : policy.out_dir;
  constexpr std::string_view kRevision = "${sha}";
  if (const std::size_t place = path.find(kRevision); place != std::string::npos)
    path.replace(place, kRevision.size(), revision);
  return absolute_path(path);
}

Result<void> check_variables(const Policy& policy) {
  for (const gate::Step& step : policy.steps)
    if (step.environment.pass.contains("HERMETIC_SIGNING_KEY"))
      return invalid(fmt::format("the step '{}' would get HERMETIC_SIGNING_KEY, the key that signs "
                                 "its own evidence",
                                 step.id),
                     "take it out of environment.pass", step.origin);
  return {};
}

// The gate asks the spec of every step whether it shows the key.
Result<std::optional<SigningKey>> key_for(const Arguments& arguments, gate::GateOptions& options) {
  if (!arguments.has("--key")) return key_from_environment();
  options.key_file = TRY(KeyFile::open(arguments.last("--key")));
  return std::optional(options.key_file->key());
}

Result<int> run_gate(const Arguments& arguments) {
  GateSetup setup = TRY(gate_setup(arguments));
  const Policy& policy = setup.policy;
  gate::GateOptions& options = setup.options;
  if (policy.mode == Policy::Mode::Audit && arguments.has("--require"))
    return invalid(
        fmt::format("{} asks for an audit, which enforces nothing", printable(policy.file)),
        "set its mode to enforce, or leave --require out");
  options.revision = TRY(revision_for(arguments, options.surroundings.workspace));
  TRY(check_variables(policy));
  const std::optional<SigningKey> key = TRY(key_for(arguments, options));
  options.is_signed = key.has_value();
  const Redaction redaction = redaction_for(policy);
  // Its folder may be the one that is replaced in the end.
  std::optional<gate::PreviousGate> previous;
  if (arguments.has("--previous"))
    previous = TRY(gate::read_previous_gate(arguments.last("--previous"), redaction));
  const bool whole = options.steps.empty();
  std::vector<ReportLink> links =
      gate::ci_links(options.surroundings.environment, options.revision);
  const std::string out = TRY(out_dir_for(arguments, policy, options.revision));
  const std::optional<OwnPlace> summary = TRY(place_of_summary());
  if (summary) options.own_places.emplace(kSummaryVariable, *summary);
  EvidenceFolder folder = TRY(make_evidence_folder(options.surroundings, out));

  GateConsole console(arguments.has("--quiet"));
  options.on_progress = [&](const gate::Progress& progress) { console.on_progress(progress); };
  const auto started = std::chrono::system_clock::now();
  // Before a step can change them.
  const std::optional<std::vector<std::string>> modified =
      gate::modified_files(*options.detectors.front().backend, options.surroundings.workspace);
  gate::Gate gate(policy, std::move(options), redaction);
  Result<Report> report = [&] {
    const StopSignals stopping([&] { gate.stop(); });
    return gate.run(folder);
  }();
  if (!report) return report.error();
  report->links = std::move(links);
  if (previous) report->comparison = gate::changes_since(*previous, *report, whole);
  const std::string stable = gate::report_as_json(policy, *report, modified);
  TRY(folder.write(std::string(kReportFile), stable));
  TRY(folder.write("gl-code-quality.json", gate::report_as_code_quality(*report)));
  TRY(write_conclusion(folder, *report, std::string(kReportFile),
                       gate::rest_of_gate(*report, stable, timestamp(started)),
                       key ? &*key : nullptr, redaction));
  TRY(folder.publish());
  console.conclude(*report, folder.path(), summary, redaction);
  switch (report->verdict()) {
    case StepVerdict::Pass: return kSuccess;
    case StepVerdict::Error: return kBadUsage;
    default: return kNo;
  }
}

Result<int> dispatch(const Arguments& arguments) {
  const std::string word = arguments.words.empty() ? "" : arguments.words.front();
  const bool known = word.empty() || word == "learn" || word == "simulate";
  if (!arguments.command.empty() || arguments.words.size() > 1 || !known)
    return invalid("'hermetic gate' takes no command",
                   "its steps are in the policy; learn or simulate can follow");
  if (word != "simulate")
    for (const char* option : {"--evidence", "--json"})
      if (arguments.has(option))
        return invalid(fmt::format("{} is for 'hermetic gate simulate'", option));
  if (!word.empty() && arguments.has("--previous"))
    return invalid("--previous is for a gate that judges", "leave it out");
  if (word == "learn") return gate_learn(arguments);
  if (word == "simulate") return gate_simulate(arguments);
  return run_gate(arguments);
}

}  // namespace

const Subcommand& gate_description() {
  static const Subcommand description{
      .name = "gate",
      .synopsis = "[learn|simulate] [OPTION]...",
      .summary = "Runs the steps of a policy, and proves that they were hermetic.",
      .options = {
          {"--policy", "FILE", "the policy; docs/ci/HERMETIC_CI_POLICY.yml by default"},
          {"--step", "ID", "only this step; can be given again"},
          {"--sha", "SHA", "the commit; else GITHUB_SHA, CI_COMMIT_SHA, or that of .git"},
          {"--out", "DIR", "where the evidence goes, instead of where the policy says"},
          {"--jobs", "N", "run up to N steps at once"},
          {"--timeout", "TIME", "end a step that runs longer, unless it has a limit of its own"},
          toolchain_option(),
          {"--previous", "DIR", "say what has changed since the evidence in DIR"},
          {"--key", "FILE", "sign the evidence; else with HERMETIC_SIGNING_KEY, or not at all"},
          {"--require", "enforced", "fail where the network cannot be denied, only watched"},
          {"--detector", "NAME", "guard, strace or sockets; by default the best that works here"},
          {"--evidence", "DIR", "simulate: what an earlier gate has left; can be given again"},
          {"--json", "", "simulate: print a JSON document"},
          {"--quiet", "", "say nothing but what went wrong"},
          {"--help", "", "show this help"}}};
  return description;
}

int gate_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(gate_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(gate_description())), kSuccess;
  const Result<int> exit_code = dispatch(*arguments);
  if (exit_code) return *exit_code;
  complain(exit_code.error());
  return kBadUsage;
}

}  // namespace hermetic::cli
