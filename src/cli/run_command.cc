// hermetic run: runs a command in a sandbox that shows it nothing but what was declared.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/forward_signals.h"
#include "cli/spec_options.h"
#include "hermetic/base/text.h"
#include "hermetic/plan/print.h"
#include "hermetic/record/outcome_json.h"
#include "hermetic/spec/quantity.h"

namespace hermetic::cli {
namespace {

class Silence final : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

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

int run_spec(const Arguments& arguments, const Spec& spec) {
  Result<std::unique_ptr<Backend>> backend = backend_named(arguments.last("--backend"));
  if (!backend) return report(backend.error());
  RunOptions options;
  options.keep_failed = arguments.last("--keep-failed");
  const std::string json_file = arguments.last("--json");
  options.digest_outputs = !json_file.empty();

  Result<Plan> plan = make_plan(spec, (*backend)->probe());
  if (!plan) return report(plan.error());
  Silence events;
  Result<std::unique_ptr<Run>> run = (*backend)->start(*plan, options, events);
  if (!run) return report(run.error());
  Result<Outcome> outcome = [&] {
    const ForwardSignals forwarding(**run);
    return (*run)->wait();
  }();
  if (!outcome) return report(outcome.error());
  if (const std::string remark = remark_on(*outcome, spec);
      !remark.empty() && !arguments.has("--quiet"))
    complain({.message = remark});
  const int exit_code = exit_code_of(*outcome, spec.on_violation);
  if (!json_file.empty()) {
    const Result<void> written =
        write_file_whole(json_file, outcome_as_json(*plan, *outcome, exit_code));
    if (!written) return report(written.error());
  }
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
    run.options.push_back(
        {"--json", "FILE", "write the outcome to FILE (docs/reference/outcome.schema.json)"});
    run.options.push_back({"--keep-failed", "DIR", "keep the outputs of a run that failed in DIR"});
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
  return run_spec(*arguments, *spec);
}

}  // namespace hermetic::cli
