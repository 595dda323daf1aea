// hermetic task: a command in a fresh worktree and a fresh environment, sealed, recorded and gone.
#include <fmt/format.h>

#include <optional>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/event_sinks.h"
#include "cli/exit_code.h"
#include "cli/forward_signals.h"
#include "cli/making_line.h"
#include "cli/own_places.h"
#include "cli/run_evidence.h"
#include "cli/spec_options.h"
#include "cli/task_evidence.h"
#include "cli/task_options.h"
#include "cli/violation_report.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/record/outcome_json.h"
#include "hermetic/task/task_record.h"

namespace hermetic::cli {
namespace {

using task::Task;
using task::TaskRecord;

// Forwards signals while the run is there.
Result<Outcome> run_plan(Task& task, Backend& backend, const Plan& plan, const RunOptions& options,
                         EventSink& events) {
  std::optional<ForwardSignals> forwarding;
  return task.run_plan(plan, backend, options, events, [&](Run* run) {
    if (run != nullptr)
      forwarding.emplace(*run);
    else
      forwarding.reset();
  });
}

Result<Task> set_up(const task::TaskRequest& request, Cache& cache, Backend& backend, bool quiet) {
  const MakingLine making(cache, quiet);
  return Task::set_up(request, cache, backend);
}

Result<int> run_task(const Arguments& arguments) {
  task::TaskRequest request = TRY(task_request(arguments));
  const OwnPlaces places = TRY(OwnPlaces::find(arguments));
  TRY(places.check_writable());
  const std::unique_ptr<Backend> backend = TRY(backend_named(""));
  Cache cache = TRY(Cache::open());
  Task task = TRY(set_up(request, cache, *backend, arguments.has("--quiet")));
  if (!arguments.has("--quiet"))
    complain_of_missing_submodules(task.checkout().missing_submodules, arguments.last("--repo"));
  const Spec spec = TRY(task.spec());
  TRY(places.check_out_of_reach(spec));
  Finished finished {
    .plan = TRY(make_plan(spec, backend->probe()))
    , .outcome = {}
  };
  const Plan& plan = finished.plan;
  const Redaction redaction = redaction_for(plan);
  EventSinks events(redaction);
  TRY(events.open(arguments, places));
  RunOptions options;
  options.digest_outputs = arguments.has("--json");
  observe_what_is_asked(arguments, spec, options);
  std::unique_ptr<RunEvidence> evidence;
  if (const OwnPlace* place = places.at("--evidence"))
    evidence = TRY(RunEvidence::begin(*place, arguments, spec, redaction, options, events));
  EventSink& sink = evidence ? static_cast<EventSink&>(*evidence) : events;
  finished.outcome = TRY(run_plan(task, *backend, plan, options, sink));
  const Outcome& outcome = finished.outcome;

  TaskRecord record =
      TRY(task::record_of(task, finished, exit_code_of(outcome, plan.on_violation)));
  // A command can see to it that they are not kept; what it did is written down all the same.
  Result<void> kept;
  if (const OwnPlace* place = places.at("--keep-changes")) kept = task.keep_changes(*place);
  if (!kept) record.not_kept = kept.error().message;
  record.certificate = task.clean_up();
  if (const std::string denied =
          violation_report(outcome.violations, plan.on_violation, redaction, 5);
      !denied.empty() && !arguments.has("--quiet"))
    complain({.message = denied});
  if (const OwnPlace* place = places.at("--manifest"))
    TRY(write_own_file(*place, task_manifest(task, record, outcome)));
  if (const OwnPlace* place = places.at("--metrics"))
    TRY(write_own_file(*place, task::task_metrics({task.durations()})));
  if (arguments.has("--json")) {
    const std::string json = outcome_as_json(plan, outcome, record.exit_code, redaction);
    const OwnPlace* place = places.at("--json");
    TRY(place != nullptr ? write_own_file(*place, json) : (print(json), Result<void>()));
  }
  if (evidence) {
    const TaskEvidence about = TRY(evidence_of(task));
    TRY(evidence->finish(plan, outcome, record.exit_code, &about));
  }
  TRY(events.close());
  for (const std::string& left : record.certificate.left) complain({.message = left});
  TRY(std::move(kept));
  return record.certificate.left.empty() ? record.exit_code : kFailed;
}

// The same, but what the command has made is frozen instead of removed.
Result<int> make_snapshot(const Arguments& arguments) {
  task::TaskRequest request = TRY(task_request(arguments, NeedsId::No));
  const std::string& name = arguments.words.back();
  if (request.id.empty()) request.id = name;
  const OwnPlaces places = TRY(OwnPlaces::find(arguments));
  TRY(places.check_writable());
  const std::unique_ptr<Backend> backend = TRY(backend_named(""));
  Cache cache = TRY(Cache::open());
  request.scratch = cache.path() + "/preparing";
  Task task = TRY(set_up(request, cache, *backend, arguments.has("--quiet")));
  const Spec spec = TRY(task.spec());
  TRY(places.check_out_of_reach(spec));
  const Plan plan = TRY(make_plan(spec, backend->probe()));
  const Redaction redaction = redaction_for(plan);
  EventSinks events(redaction);
  TRY(events.open(arguments, places));
  RunOptions options;
  observe_what_is_asked(arguments, spec, options);
  const Outcome outcome = TRY(run_plan(task, *backend, plan, options, events));
  TRY(events.close());
  const int exit_code = exit_code_of(outcome, plan.on_violation);
  if (exit_code == kSuccess) TRY(task.freeze(name, cache));
  return exit_code;
}

}  // namespace

int task_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(task_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(task_description())), kSuccess;
  const std::string act = arguments->words.empty() ? "" : arguments->words.front();
  Result<int> exit_code =
      invalid(fmt::format("'hermetic task' cannot '{}'", printable(act)),
              "hermetic task run|batch|snapshot|selftest, see 'hermetic task --help'");
  if (const Result<void> checked = check_options_of_act(act, *arguments); !checked)
    return report(checked.error());
  if (act == "run" && arguments->words.size() == 1) exit_code = run_task(*arguments);
  if (act == "snapshot" && arguments->words.size() == 2) exit_code = make_snapshot(*arguments);
  if (act == "batch" && arguments->words.size() == 2) exit_code = task_batch(*arguments);
  if (act == "selftest" && arguments->words.size() == 1) exit_code = task_selftest(*arguments);
  return exit_code ? *exit_code : report(exit_code.error());
}

}  // namespace hermetic::cli
