// hermetic run: runs a command in a sandbox that shows it nothing but what was declared.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/event_sinks.h"
#include "cli/exit_code.h"
#include "cli/explanation.h"
#include "cli/forward_signals.h"
#include "cli/own_places.h"
#include "cli/run_evidence.h"
#include "cli/spec_options.h"
#include "cli/status_line.h"
#include "cli/usage_report.h"
#include "cli/violation_report.h"
#include "hermetic/backends/none/none_backend.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/plan/print.h"
#include "hermetic/record/outcome_json.h"
#include "hermetic/spec/quantity.h"

namespace hermetic::cli {
namespace {

Result<void> check_known(const Arguments& arguments) {
  if (arguments.last("--events") == "-" && arguments.last("--json") == "-")
    return invalid("--events and --json cannot both be written to standard output",
                   "give one of them a file");
  return {};
}

// What was exceeded, by how much, and what to change.
std::string remark_on_limit(const OverLimit& over) {
  const bool size = over.which == "memory" || over.which == "file_size" ||
                    over.which == "disk_write" || over.which == "network_bytes";
  const auto shown = [&](std::uint64_t amount) {
    if (size) return rounded_size(amount);
    if (over.which == "cpu_time") return rounded_time(std::chrono::milliseconds(amount));
    return std::to_string(amount);
  };
  std::string option = over.which;
  std::replace(option.begin(), option.end(), '_', '-');
  // The kernel refuses what goes beyond, so that the limit is all that there ever was.
  const std::string what = shown(over.actual) == shown(over.limit)
                               ? fmt::format("it wanted more {}", over.which)
                               : fmt::format("{} came to {}", over.which, shown(over.actual));
  return fmt::format(
      "the command was ended: {}, its limit is {}\n  hint: raise {}, or find out "
      "what takes so much: --usage --by-process",
      what, shown(over.limit),
      over.which == "max_children" ? "process.max_children"
                                   : fmt::format("limits.{} or --{}", over.which, option));
}

// What to say about a run that did not end by itself; nothing about one that did.
std::string remark_on(const Outcome& outcome, const Spec& spec, const Redaction& redaction) {
  struct Remark {
    const Spec& spec;
    const Redaction& redaction;
    std::string operator()(const Exited& /*ending*/) const { return ""; }
    std::string operator()(const Signaled& ending) const {
      return fmt::format("the command was ended by signal {} ({})", ending.signal,
                         ::strsignal(ending.signal));
    }
    std::string operator()(const TimedOut& ending) const {
      if (ending.which == TimedOut::Which::IdleTime)
        return fmt::format(
            "the command was ended: it has neither written nor computed for {}, its limit\n  hint: "
            "raise limits.idle_time or --idle-time if it has to wait that long",
            format_duration(ending.limit));
      return fmt::format("the command was ended after {}, its limit of wall time",
                         format_duration(ending.limit));
    }
    std::string operator()(const OverLimit& ending) const { return remark_on_limit(ending); }
    std::string operator()(const EndedByViolation& ending) const {
      return fmt::format("the command was ended by a violation: {} {}", ending.violation.act,
                         printable(redaction.clean(ending.violation.subject)));
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
  return std::visit(Remark{spec, redaction}, outcome.ending);
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
      printable(spec.command.front()), [&run] { return run.snapshot(); });
  return run.wait();
}

// An audit trail with holes is a failure of hermetic, whatever the command said; it is told, too.
Result<void> with_exit_code(const Result<void>& closed, int exit_code) {
  if (closed) return {};
  Error error = closed.error();
  error.hint = fmt::format("the run itself ended with exit code {}", exit_code);
  return error;
}

Result<int> run_spec(const Arguments& arguments, Spec spec) {
  TRY(check_known(arguments));
  const OwnPlaces places = TRY(OwnPlaces::find(arguments));
  TRY(places.check_out_of_reach(spec));
  TRY(places.check_writable());
  const std::unique_ptr<Backend> backend = TRY(backend_for(arguments, spec));
  RunOptions options;
  if (const OwnPlace* place = places.at("--keep-failed")) options.keep_failed = *place;
  options.digest_outputs = arguments.has("--json");
  observe_what_is_asked(arguments, spec, options);
  options.watch_processes = arguments.has("--by-process");
  if (arguments.has("--usage") || arguments.has("--samples") || options.watch_processes)
    options.sample_every = kUsualSampling;
  if (arguments.has("--sample-every"))
    options.sample_every = TRY(parse_duration(arguments.last("--sample-every")));

  const Plan plan = TRY(make_plan(spec, backend->probe()));
  const Redaction redaction = redaction_for(plan);
  EventSinks events(redaction);
  TRY(events.open(arguments, places));
  std::unique_ptr<RunEvidence> evidence;
  if (const OwnPlace* place = places.at("--evidence"))
    evidence = TRY(RunEvidence::begin(*place, arguments, spec, redaction, options, events));
  EventSink& sink = evidence ? static_cast<EventSink&>(*evidence) : events;
  const auto started = RelayThread::Clock::now();
  const std::unique_ptr<Run> run = TRY(backend->start(plan, options, sink));
  const Outcome outcome = TRY(wait_for(*run, arguments, spec));

  const int exit_code = exit_code_of(outcome, spec.on_violation);
  if (outcome.was_ended())
    wait_for_readers_until(RelayThread::Clock::now());
  else if (spec.limits.wall_time)
    wait_for_readers_until(started + *spec.limits.wall_time);
  if (const std::string remark = remark_on(outcome, spec, redaction);
      !remark.empty() && !arguments.has("--quiet"))
    complain({.message = remark});
  // It may have been another program than the caller means by that name.
  if (!outcome.success() && !arguments.has("--quiet"))
    for (const OtherProgram& program :
         other_programs(spec, caller_search(), programs_named_in(spec.command)))
      complain({.message = redaction.clean(explanation_of(program))});
  constexpr std::size_t kUsually = 5;
  constexpr std::size_t kExplained = 1000;
  if (const std::string denied =
          violation_report(outcome.violations, spec.on_violation, redaction,
                           arguments.has("--explain") ? kExplained : kUsually);
      !denied.empty() && !arguments.has("--quiet"))
    complain({.message = denied});
  if (const std::string refused =
          refusal_report(outcome.refused_calls, arguments.has("--explain"), redaction);
      !refused.empty() && !arguments.has("--quiet"))
    complain({.message = refused});
  if (arguments.has("--explain")) {
    const std::string denied = explain_denied(outcome, redaction);
    if (!denied.empty())
      complain({.message = denied});
    else if (exit_code != kSuccess)
      complain({.message = "the command asked for no undeclared path that exists"});
  }
  if (arguments.has("--usage")) complain({.message = usage_table(outcome.usage)});
  if (const OwnPlace* place = places.at("--json"))
    TRY(write_own_file(*place, outcome_as_json(plan, outcome, exit_code, redaction)));
  else if (arguments.last("--json") == "-")
    print(outcome_as_json(plan, outcome, exit_code, redaction));
  if (evidence) TRY(with_exit_code(evidence->finish(plan, outcome, exit_code), exit_code));
  TRY(with_exit_code(events.close(), exit_code));
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
        {"--explain", "", "say what the command was denied, and how to allow it"});
    run.options.push_back(
        {"--events", "FILE", "write a line of JSON to FILE for each event (- is standard output)"});
    run.options.push_back({"--syslog", "", "send each event to the system's log, too"});
    run.options.push_back(
        {"--evidence", "DIR", "leave a folder that others can check: DIR, which must not exist"});
    run.options.push_back(
        {"--key", "FILE", "sign the evidence; else with HERMETIC_SIGNING_KEY, or not at all"});
    run.options.push_back(
        {"--prove", "", "first try inside what must fail there; run nothing if any of it works"});
    run.options.push_back({"--usage", "", "say at the end what the run has used"});
    run.options.push_back({"--by-process", "", "count for each process, too (slower)"});
    run.options.push_back({"--samples", "FILE", "write a line of JSON to FILE ten times a second"});
    run.options.push_back({"--sample-every", "TIME", "look that often instead, such as 20ms"});
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
