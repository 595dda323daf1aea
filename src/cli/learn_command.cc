// hermetic learn: writes the spec that a command needs, by watching it.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/forward_signals.h"
#include "cli/spec_options.h"
#include "cli/status_line.h"
#include "hermetic/backends/linux/observing_backend.h"
#include "hermetic/base/current_directory.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/json_text.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/earlier.h"
#include "hermetic/learn/learn.h"
#include "hermetic/learn/needless.h"
#include "hermetic/learn/secrets.h"
#include "hermetic/learn/spec_text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {
namespace {

std::string describe(const Ending& ending) {
  struct Words {
    std::string operator()(const Exited& end) const {
      return fmt::format("exit code {}", end.code);
    }
    std::string operator()(const Signaled& end) const {
      return fmt::format("signal {}", end.signal);
    }
    std::string operator()(const TimedOut& /*end*/) const { return "out of time"; }
    std::string operator()(const OverLimit& end) const { return "over its limit of " + end.which; }
    std::string operator()(const EndedByViolation& /*end*/) const { return "a violation"; }
    std::string operator()(const NotStarted& end) const {
      return fmt::format("not started: {}", ::strerror(end.os_error));
    }
  };
  return std::visit(Words{}, ending);
}

// Knows which program was started last. Programs tell more than the time that has passed.
class LatestProgram final : public EventSink {
 public:
  void on_event(const Event& event) override {
    if (event.kind != Event::Kind::Process || event.act != "execute") return;
    const std::lock_guard lock(mutex_);
    name_ = last_component(event.subject);
  }
  void on_sample(const Usage& /*usage*/) override {}

  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    return printable(name_);
  }

 private:
  mutable std::mutex mutex_;
  std::string name_;
};

// Waits, with a line that says what for.
Wait waiting(const Arguments& arguments, const LatestProgram& latest) {
  return [&arguments, &latest](Run& run, const std::string& what) -> Result<Outcome> {
    const ForwardSignals forwarding(run);
    const StatusLine status(
        arguments.has("--quiet") ? StatusLine::Show::Never : StatusLine::Show::Always, what,
        [&run] { return run.snapshot(); }, [&latest] { return latest.text(); });
    return run.wait();
  };
}

// Where $here will be.
Result<std::string> folder_of(const std::string& file) {
  const std::string path = TRY(absolute_path(file.empty() || file == "-" ? "spec" : file));
  std::array<char, PATH_MAX> real;
  if (::realpath(std::string(parent_of(path)).c_str(), real.data()) == nullptr)
    return system_error(fmt::format("cannot find the folder of '{}'", printable(path)), errno);
  return std::string(real.data());
}

Result<OwnPlace> place_of_spec(const std::string& file) {
  OwnPlace place = TRY(OwnPlace::find(file));
  TRY(place.check_for_file());
  return place;
}

// As a shell takes them.
std::string as_shell(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                                            "XYZ0123456789_-+=./:,@%") == std::string::npos;
    std::string quoted = "'";
    for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
    text += plain ? word : quoted + "'";
  }
  return text;
}

// One step that leads on from a proof that failed.
std::string next_step(const Lesson& lesson, const Arguments& arguments,
                      const Redaction& redaction) {
  const std::string file = arguments.last("--write");
  const bool to_file = !file.empty() && file != "-";
  const std::string spec = to_file ? fmt::format("'{}'", printable(file)) : "the spec";
  const std::string then =
      to_file ? fmt::format(", then: hermetic run --spec {}", printable(as_shell({file}))) : "";
  const Proof& proof = lesson.proof;
  if (!proof.withheld.empty() && proof.lacking.empty())
    return fmt::format("if it is meant, remove the '#' before '{}' in {}{}",
                       printable(redaction.clean(proof.withheld.front())), spec, then);
  for (const AskedPath& asked : proof.lacking)
    return fmt::format("add '- {}' to '{}' in {}{}", printable(redaction.clean(asked.path)),
                       asked.operation == Operation::Write ? "temps" : "inputs", spec, then);
  for (const Violation& violation : proof.outcome->violations) {
    const std::string host = violation.subject.substr(0, violation.subject.find('/'));  // "…/udp"
    if (!host.empty() && host.find(' ') == std::string::npos)
      return fmt::format("if it is meant, put 'network: [\"{}\"]' into {}{}",
                         printable(redaction.clean(host)), spec, then);
  }
  if (!arguments.has("--variables"))
    return fmt::format(
        "no file is lacking, so it may need a variable; this finds out which: hermetic learn "
        "--variables{} -- {}",
        to_file ? printable(" --write " + as_shell({file})) : "",
        printable(redaction.clean(as_shell(arguments.command))));
  return fmt::format(
      "no file is lacking: name the variable that it needs, as in 'environment: {{pass: [NAME]}}', "
      "in {}{}",
      spec, then);
}

std::string verdict(const Lesson& lesson, const Arguments& arguments, const Redaction& redaction) {
  const Proof& proof = lesson.proof;
  std::string withheld;
  for (const std::string& path : proof.withheld)
    withheld +=
        fmt::format("\n  left out: {} (it looks like a secret)", printable(redaction.clean(path)));
  if (proof.proved)
    return fmt::format("the spec is proved: the command ends the same under it ({}){}",
                       describe(proof.outcome->ending), withheld);
  std::string text = "the spec is not proved: ";
  if (!proof.outcome) return text + proof.refusal;
  text += fmt::format("under it the command ends with {}", describe(proof.outcome->ending));
  for (const AskedPath& asked : proof.lacking)
    text += fmt::format("\n  lacking: {} {}", to_string(asked.operation),
                        printable(redaction.clean(asked.path)));
  text += withheld;
  for (const Violation& violation : proof.outcome->violations)
    text += fmt::format("\n  violation: {} {} ({})", violation.act,
                        printable(redaction.clean(violation.subject)),
                        printable(redaction.clean(violation.detail)));
  const std::string& said = proof.outcome->standard_error.text;
  constexpr std::size_t kShown = 2000;
  if (!said.empty())
    text += fmt::format(
        "\n  it said: {}",
        printable(redaction.clean(said.substr(said.size() - std::min(said.size(), kShown)))));
  return text + "\n  hint: " + next_step(lesson, arguments, redaction);
}

std::string as_json(const Observation& observation, const Lesson& lesson) {
  JsonText json;
  json.begin_object();
  json.key("lacking").begin_array();
  for (const AskedPath& asked : lesson.proof.lacking) {
    json.begin_object();
    json.key("operation").text(to_string(asked.operation));
    json.key("path").text(asked.path);
    json.end_object();
  }
  json.end_array();
  json.key("notes").begin_array();
  for (const std::string& note : lesson.learned.notes) json.text(note);
  json.end_array();
  json.key("paths").begin_array();
  for (const SeenPath& seen : observation.paths) {
    json.begin_object();
    json.key("absent").boolean(seen.absent_before);
    json.key("executed").boolean(seen.executed);
    json.key("listed").boolean(seen.type == FileType::Directory && seen.opened);
    json.key("path").text(seen.path);
    json.key("read").boolean(seen.read || seen.opened);
    json.key("written").boolean(seen.written);
    json.end_object();
  }
  json.end_array();
  json.key("proved").boolean(lesson.proof.proved);
  json.key("reached").begin_array();
  for (const Reached& side : observation.reached)
    json.text(fmt::format("{}:{}", side.host, side.port));
  json.end_array();
  json.key("spec").text(lesson.text);
  json.key("variables").begin_array();
  for (const std::string& name : observation.asked) json.text(name);
  json.end_array();
  json.key("withheld").begin_array();
  for (const std::string& path : lesson.learned.withheld) json.text(path);
  json.end_array();
  return json.end_object().str() + "\n";
}

// What the file says already, if another run is to be added to it.
Result<Earlier> earlier_in(const std::string& file, const std::string& here) {
  const std::string text = TRY(read_whole_file(file));
  Earlier earlier = TRY(read_earlier(text, file, here));
  const std::string directory = TRY(current_directory());
  if (earlier.directory != directory && earlier.directory != "/")
    return invalid(
        fmt::format("'{}' was learned in '{}'", printable(file), printable(earlier.directory)),
        "start there: the run is added to it");
  return earlier;
}

Result<int> learn_spec(Arguments arguments) {
  const std::string file = arguments.last("--write");
  const std::string here = TRY(folder_of(file));
  const bool to_file = !file.empty() && file != "-";
  if (to_file) TRY(place_of_spec(file));
  Earlier earlier;
  if (arguments.has("--again")) earlier = TRY(earlier_in(file, here));
  if (arguments.command.empty()) arguments.command = earlier.command;
  LatestProgram events;
  ObservingBackend observing;
  // What is printed is the spec; what the command prints goes beside it.
  const bool prints = !to_file || arguments.has("--json");
  Observed observed = TRY(observe(arguments.command,
                                  {.standard_output = prints ? STDERR_FILENO : STDOUT_FILENO,
                                   .variables = arguments.has("--variables"),
                                   .earlier = std::move(earlier)},
                                  observing, events, waiting(arguments, events)));
  if (const Ending& ending = observed.outcome.ending; !observed.outcome.success()) {
    complain({.message = fmt::format("nothing is learned: the command failed by itself ({})",
                                     describe(ending))});
    return exit_code_of(observed.outcome, OnViolation::Report);
  }
  const Observation observation = observed.observation;
  const std::unique_ptr<Backend> proving = TRY(backend_named(arguments.last("--backend")));
  const Surroundings surroundings = surroundings_of_host();
  Lesson lesson;
  if (arguments.has("--unproved")) {
    lesson.learned = generalise(observation, surroundings, Results::OneByOne);
    lesson.text = spec_text(lesson.learned, here);
  } else {
    lesson = TRY(learn(std::move(observed), surroundings, here, *proving, events,
                       waiting(arguments, events)));
  }
  if (to_file) {
    // The command may have made the directory anew.
    const OwnPlace place = TRY(place_of_spec(file));
    TRY(write_own_file(place, lesson.text));
  }
  if (arguments.has("--json"))
    print(as_json(observation, lesson));
  else if (!to_file)
    print(lesson.text);
  if (arguments.has("--unproved")) return kSuccess;
  if (!lesson.proof.proved || !arguments.has("--quiet"))
    complain({.message = verdict(lesson, arguments, Redaction(observation.environment))});
  if (!lesson.proof.proved && to_file)
    complain({.message = fmt::format("'{}' was written, but is not proved", printable(file))});
  if (lesson.proof.proved) return kSuccess;
  return lesson.proof.outcome ? kNo : kFailed;  // it was not even tried
}

// Programs can be heard asking for variables only where they can load something of ours, so the
// command is run once more, without the spec's sandbox.
Result<std::set<std::string>> variables_asked_for(const Spec& spec, const Arguments& arguments) {
  LatestProgram events;
  ObservingBackend observing;
  const Observed observed =
      TRY(observe(spec.command, {.standard_output = STDERR_FILENO, .variables = true}, observing,
                  events, waiting(arguments, events)));
  if (!observed.outcome.success())
    return unsupported(fmt::format("cannot tell which variables are asked for: without the sandbox "
                                   "the command failed ({})",
                                   describe(observed.outcome.ending)),
                       "leave out --variables");
  return observed.observation.asked;
}

Result<int> show_needless(const Arguments& arguments) {
  Arguments as_run;
  as_run.command = arguments.command;
  as_run.words = arguments.words;
  as_run.options.push_back({.name = "--spec", .value = arguments.last("--diff")});
  const Spec spec = TRY(spec_from(as_run));
  const std::unique_ptr<Backend> backend = TRY(backend_named(arguments.last("--backend")));
  const Plan plan = TRY(make_plan(spec, backend->probe()));
  ReachCollector reached;
  const RunOptions options{
      .standard_input = -1, .standard_output = STDERR_FILENO, .observe_files = true};
  const std::unique_ptr<Run> run = TRY(backend->start(plan, options, reached));
  const LatestProgram latest;
  const Outcome outcome = TRY(waiting(arguments, latest)(*run, "observing"));
  if (!outcome.success()) {
    complain({.message = fmt::format("nothing can be told: under the spec the command failed ({})",
                                     describe(outcome.ending))});
    return exit_code_of(outcome, OnViolation::Report);
  }
  std::vector<Needless> list = needless(spec, see(outcome.asked));
  const auto add = [&list](const std::vector<Needless>& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  add(needless_hosts(spec.network, reached));
  if (arguments.has("--variables"))
    add(needless_variables(spec.environment, TRY(variables_asked_for(spec, arguments))));
  JsonText json;
  json.begin_object().key("needless").begin_array();
  std::string text;
  for (const Needless& one : list) {
    json.begin_object().key("detail").text(one.detail).key("what").text(one.what).end_object();
    text += fmt::format("{}: {}\n", one.what, one.detail);
  }
  if (list.empty()) text = "every declaration was needed\n";
  print(arguments.has("--json") ? json.end_array().end_object().str() + "\n" : text);
  return kSuccess;
}

}  // namespace

const Subcommand& learn_description() {
  static const Subcommand description{
      .name = "learn",
      .synopsis = "[--write FILE [--again] | --diff FILE [TARGET]] [-- COMMAND...]",
      .summary = "Writes the spec that a command needs, by watching it, and proves it.",
      .options = {
          {"--write", "FILE", "write the spec to FILE instead of standard output"},
          {"--again", "",
           "add what another run needs to the spec in FILE; without COMMAND, of its own command"},
          {"--variables", "", "hear which variables programs ask for, by LD_PRELOAD"},
          {"--unproved", "", "do not run the command once more under the spec"},
          {"--diff", "FILE",
           "run the spec in FILE and show what it allows without need; with --variables, run "
           "the command once more without a sandbox"},
          {"--backend", "NAME", "linux (the default here)"},
          {"--json", "", "print JSON: what was seen, the spec, whether it is proved"},
          {"--quiet", "", "say nothing if all is well"},
          {"--help", "", "show this help"}}};
  return description;
}

int learn_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(learn_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(learn_description())), kSuccess;
  const bool diff = arguments->has("--diff");
  const bool again = arguments->has("--again");
  if (again && (diff || arguments->last("--write").empty() || arguments->last("--write") == "-"))
    return report(
        invalid("--again without a file to add to", "hermetic learn --again --write FILE"));
  if (!diff && !again && arguments->command.empty())
    return report(invalid("no command to learn from", "hermetic learn -- COMMAND..."));
  if (!diff && !arguments->words.empty())
    return report(invalid(fmt::format("unexpected word '{}'", printable(arguments->words.front())),
                          "the command stands after --"));
  const Result<int> exit_code = diff ? show_needless(*arguments) : learn_spec(*arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace hermetic::cli
