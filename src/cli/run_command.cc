// hermetic run: runs a command in a sandbox that shows it nothing but what was declared.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/explanation.h"
#include "cli/forward_signals.h"
#include "cli/spec_options.h"
#include "cli/status_line.h"
#include "hermetic/backends/none/none_backend.h"
#include "hermetic/base/text.h"
#include "hermetic/plan/print.h"
#include "hermetic/record/outcome_json.h"
#include "hermetic/spec/quantity.h"

namespace hermetic::cli {
namespace {

// With HERMETIC_DEBUG set, says what happens as it happens.
class Narrator final : public EventSink {
 public:
  explicit Narrator(bool speaks) : speaks_(speaks) {}
  void on_event(const Event& event) override {
    if (!speaks_) return;
    static constexpr std::array kNames = {"started", "stopping", "violation", "ended"};
    const double milliseconds =
        std::chrono::duration<double, std::milli>(event.since_start).count();
    complain(
        {.message = fmt::format("debug: {:9.3f} ms {} {}", milliseconds,
                                kNames.at(static_cast<std::size_t>(event.kind)), event.detail)});
  }

 private:
  bool speaks_;
};

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

// Options that a later release fills in: refused by name, never ignored.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNotYet = {
    {{"--events", "the audit trail"},
     {"--evidence", "evidence"},
     {"--usage", "the usage report"},
     {"--samples", "the usage report"}}};

Result<void> check_known(const Arguments& arguments) {
  for (const auto& [option, feature] : kNotYet)
    if (arguments.has(option))
      return unsupported(fmt::format("{} is not there yet: {} is not built", option, feature),
                         "leave the option out");
  return {};
}

// What to say about a run that did not end by itself; nothing about one that did.
std::string remark_on(const Outcome& outcome, const Spec& spec) {
  struct Remark {
    const Spec& spec;
    std::string operator()(const Exited& /*ending*/) const { return ""; }
    std::string operator()(const Signaled& ending) const {
      return fmt::format("the command was ended by signal {} ({})", ending.signal,
                         ::strsignal(ending.signal));
    }
    std::string operator()(const TimedOut& ending) const {
      return fmt::format("the command was ended after {}, its limit of wall time",
                         format_duration(ending.limit));
    }
    std::string operator()(const OverLimit& ending) const {
      return fmt::format("the command was ended: {} {} is over the limit of {}", ending.which,
                         ending.actual, ending.limit);
    }
    std::string operator()(const EndedByViolation& ending) const {
      return fmt::format("the command was ended by a violation: {}", ending.violation.detail);
    }
    std::string operator()(const NotStarted& ending) const {
      const std::string name = printable(spec.command.front());
      if (ending.os_error == ENOENT || ending.os_error == ENOTDIR)
        return fmt::format(
            "'{}' is not there inside the sandbox\n  hint: hermetic plan shows what is; declare "
            "the "
            "program and its interpreter as inputs, or mend PATH",
            name);
      return fmt::format("'{}' cannot be executed: {}", name, ::strerror(ending.os_error));
    }
  };
  return std::visit(Remark{spec}, outcome.ending);
}

// HERMETIC=off asks for a run without any sandbox: only a spec that permits it by itself gets one.
Result<std::unique_ptr<Backend>> backend_for(const Arguments& arguments, Spec& spec) {
  const char* choice = std::getenv("HERMETIC");
  if (choice == nullptr || std::string_view(choice) != "off")
    return backend_named(arguments.last("--backend"));
  if (!spec.allow_unsandboxed)
    return unsupported(
        "HERMETIC=off asks for a run without a sandbox, and the spec does not permit it",
        "unset HERMETIC, or put 'allow_unsandboxed: true' into the spec");
  for (const Clause clause : all_clauses()) spec.give_up.insert(std::string(to_string(clause)));
  complain({.message = "HERMETIC=off: running without a sandbox"});
  return std::unique_ptr<Backend>(std::make_unique<NoneBackend>());
}

Result<Outcome> wait_for(Run& run, const Arguments& arguments, const Spec& spec) {
  const ForwardSignals forwarding(run);
  const StatusLine status(
      arguments.has("--quiet") ? StatusLine::Show::Never : StatusLine::Show::OnTerminal,
      printable(spec.command.front()));
  return run.wait();
}

// What the command makes in its outputs could lead hermetic's own files astray.
Result<void> check_outside_outputs(const Arguments& arguments, const Spec& spec) {
  for (const std::string_view option : {"--json", "--keep-failed"}) {
    const std::string value = arguments.last(option);
    if (value.empty() || value == "-") continue;
    const std::string path = TRY(absolute_path(value));
    const Decision decision = spec.decide(path, Operation::Write);
    const bool output =
        decision.tree != nullptr && decision.tree->declaration.kind == TreeKind::Output;
    if (output)
      return invalid(fmt::format("{} {} lies inside the output '{}'", option, printable(path),
                                 printable(decision.tree->declaration.path)),
                     "choose a place outside the outputs");
  }
  return {};
}

Result<int> run_spec(const Arguments& arguments, Spec spec) {
  TRY(check_known(arguments));
  TRY(check_outside_outputs(arguments, spec));
  const std::unique_ptr<Backend> backend = TRY(backend_for(arguments, spec));
  const std::string json_file = arguments.last("--json");
  RunOptions options;
  options.keep_failed = arguments.last("--keep-failed");
  options.digest_outputs = !json_file.empty();
  options.observe_files = arguments.has("--explain");

  const Plan plan = TRY(make_plan(spec, backend->probe()));
  Narrator events(is_set("HERMETIC_DEBUG"));
  const std::unique_ptr<Run> run = TRY(backend->start(plan, options, events));
  const Outcome outcome = TRY(wait_for(*run, arguments, spec));

  const int exit_code = exit_code_of(outcome, spec.on_violation);
  if (const std::string remark = remark_on(outcome, spec);
      !remark.empty() && !arguments.has("--quiet"))
    complain({.message = remark});
  if (exit_code != kSuccess && options.observe_files) {
    const std::string denied = explain_denied(spec, outcome);
    complain({.message = denied.empty() ? "the command asked for no undeclared path that exists"
                                        : denied});
  }
  if (json_file == "-")
    print(outcome_as_json(plan, outcome, exit_code));
  else if (!json_file.empty())
    TRY(write_file_whole(json_file, outcome_as_json(plan, outcome, exit_code)));
  return exit_code;
}

}  // namespace

const Subcommand& run_description() {
  static const Subcommand description = [] {
    Subcommand run{.name = "run",
                   .synopsis = "[TARGET] [OPTION]... [-- COMMAND...]",
                   .summary = "Runs a command that sees nothing but what is declared.",
                   .options = spec_options()};
    run.options.push_back({"--backend", "NAME", "linux (the default here)"});
    run.options.push_back({"--json", "FILE", "write the outcome to FILE (- is standard output)"});
    run.options.push_back({"--keep-failed", "DIR", "keep the outputs of a run that failed in DIR"});
    run.options.push_back(
        {"--explain", "", "if the command fails, say which undeclared paths it asked for"});
    run.options.push_back({"--events", "FILE", "not there yet: refused"});
    run.options.push_back({"--evidence", "DIR", "not there yet: refused"});
    run.options.push_back({"--usage", "", "not there yet: refused"});
    run.options.push_back({"--samples", "FILE", "not there yet: refused"});
    run.options.push_back({"--dry-run", "", "show the plan instead, as 'hermetic plan' does"});
    run.options.push_back({"--quiet", "", "say nothing about how the run ended"});
    run.options.push_back({"--help", "", "show this help"});
    return run;
  }();
  return description;
}

int run_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(run_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(run_description())), kSuccess;
  const Result<Spec> spec = spec_from(*arguments);
  if (!spec) return report(spec.error());
  if (arguments->has("--dry-run")) {
    const Result<Capabilities> capabilities = capabilities_of(arguments->last("--backend"));
    if (!capabilities) return report(capabilities.error());
    const Result<Plan> plan = make_plan(*spec, *capabilities);
    if (!plan) return report(plan.error());
    print(print_plan(*plan, color_for("auto", STDOUT_FILENO)));
    return kSuccess;
  }
  const Result<int> exit_code = run_spec(*arguments, *spec);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace hermetic::cli
