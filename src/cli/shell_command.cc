// hermetic shell: an interactive shell in the sandbox, to look around in it.
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/event_sinks.h"
#include "cli/exit_code.h"
#include "cli/forward_signals.h"
#include "cli/spec_options.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {
namespace {

// While it lives, keys go through to the sandbox's terminal as they are: Ctrl-C is for the program
// inside.
class RawTerminal {
 public:
  RawTerminal() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);  // it may be stopped
  }

 private:
  termios before_ = {};
  bool changed_ = false;
};

Result<Outcome> wait_for(Run& run, bool interactive) {
  const ForwardSignals forwarding(run);
  if (!interactive) return run.wait();
  const RawTerminal raw;
  return run.wait();
}

Result<int> run_shell(const Arguments& arguments) {
  Draft draft = TRY(draft_from(arguments));
  if (draft.command.empty() || arguments.command.empty()) {
    draft.command = {"/bin/sh", "-i"};
    if (::access("/bin/bash", X_OK) == 0) draft.command = {"/bin/bash", "--norc", "-i"};
  }
  draft.environment.pass.insert("TERM");
  draft.environment.set.try_emplace("PS1", "hermetic:\\w$ ");
  const Spec spec = TRY(SpecBuilder(std::move(draft)).build());
  const OwnPlaces places = TRY(OwnPlaces::find(arguments));
  TRY(places.check_out_of_reach(spec));
  TRY(places.check_writable());
  const std::unique_ptr<Backend> backend = TRY(backend_named(arguments.last("--backend")));
  const Plan plan = TRY(make_plan(spec, backend->probe()));
  RunOptions options;
  options.interactive = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  options.digest_outputs = false;
  observe_what_is_asked(arguments, spec, options);
  const Redaction redaction = redaction_for(plan);
  EventSinks events(redaction);
  TRY(events.open(arguments, places));
  const std::unique_ptr<Run> run = TRY(backend->start(plan, options, events));
  const Outcome outcome = TRY(wait_for(*run, options.interactive));
  TRY(events.close());
  return exit_code_of(outcome, spec.on_violation);
}

}  // namespace

const Subcommand& shell_description() {
  static const Subcommand description = [] {
    Subcommand shell{.name = "shell",
                     .synopsis = "[TARGET] [OPTION]... [-- COMMAND...]",
                     .summary = "Opens an interactive shell, or COMMAND, in the sandbox.",
                     .options = spec_options()};
    shell.options.push_back({"--backend", "NAME", "linux (the default here)"});
    shell.options.push_back({"--events", "FILE", "write a line of JSON to FILE for each event"});
    shell.options.push_back({"--syslog", "", "send each event to the system's log, too"});
    shell.options.push_back({"--help", "", "show this help"});
    return shell;
  }();
  return description;
}

int shell_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(shell_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(shell_description())), kSuccess;
  const Result<int> code = run_shell(*arguments);
  return code ? *code : report(code.error());
}

}  // namespace hermetic::cli
