// hermetic task batch: many tasks, several at once, with one line of JSON for each.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <thread>

#include "cli/backends.h"
#include "cli/console.h"
#include "cli/event_sinks.h"
#include "cli/exit_code.h"
#include "cli/making_line.h"
#include "cli/own_places.h"
#include "cli/run_evidence.h"
#include "cli/spec_options.h"
#include "cli/stop_signals.h"
#include "cli/task_evidence.h"
#include "cli/task_options.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/record/key_file.h"
#include "hermetic/task/batch.h"

namespace hermetic::cli {
namespace {

using Clock = std::chrono::steady_clock;

Result<unsigned> count_of(const Arguments& arguments, std::string_view option, unsigned usual) {
  if (!arguments.has(option)) return usual;
  const std::string text = arguments.last(option);
  unsigned count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count > 4096)
    return invalid(fmt::format("{} {} is no count", option, printable(text)),
                   "write a number up to 4096");
  return count;
}

std::string rounded(std::chrono::seconds time) {
  if (time.count() < 60) return fmt::format("{}s", time.count());
  if (time.count() < 3600) return fmt::format("{}m{:02}s", time.count() / 60, time.count() % 60);
  return fmt::format("{}h{:02}m", time.count() / 3600, time.count() / 60 % 60);
}

// On a terminal one line that is overwritten; elsewhere a line now and then.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), live_(::isatty(STDERR_FILENO) == 1) {}

  void show(const task::BatchProgress& progress) {
    if (quiet_) return;
    const Clock::time_point now = Clock::now();
    const bool last = progress.done == progress.total;
    const auto pause = std::chrono::milliseconds(live_ ? 100 : 10'000);
    if (!last && now - shown_ < pause) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double rate = static_cast<double>(progress.done - progress.resumed) / seconds;
    const auto left = std::chrono::seconds(
        rate > 0 ? static_cast<long>(static_cast<double>(progress.total - progress.done) / rate)
                 : 0);
    std::string text = fmt::format("{}/{}  {:.1f}/s", progress.done, progress.total, rate);
    if (!last) text += fmt::format("  {} left", rounded(left));
    if (progress.failed != 0) text += fmt::format("  {} failed", progress.failed);
    if (live_) text = "\r\033[K" + bar(progress) + text + (last ? "\n" : "");
    if (!live_) text = "hermetic: " + text + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  }

 private:
  static std::string bar(const task::BatchProgress& progress) {
    constexpr std::size_t kWidth = 24;
    const std::size_t full = progress.done * kWidth / progress.total;
    std::string text = "[";
    for (std::size_t i = 0; i < kWidth; ++i) text += i < full ? "█" : "·";
    return text + "] ";
  }

  bool quiet_;
  bool live_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

// Each task has files and folders of its own: what an option names is a name in its folder.
Result<std::string> name_in_folder(const Arguments& arguments, std::string_view option,
                                   std::string_view usual) {
  const std::string name = arguments.last(option);
  if (!arguments.has(option)) return name;
  std::set<std::string> taken = {"manifest.json", "stdout.txt", "stderr.txt"};
  for (const Given& given : arguments.options)
    if (given.name != option && is_per_task(given.name)) taken.insert(given.value);
  if (name.empty() || name.starts_with('.') || name.find('/') != std::string::npos ||
      taken.contains(name))
    return invalid(fmt::format("{} {} is no name that each task can have in its folder", option,
                               printable(name)),
                   fmt::format("such as {} {}: it is made beside manifest.json, once for each task",
                               option, usual));
  return name;
}

// As `task run` does it, with what the options ask for in the folder of the task.
Result<Finished> run_recorded(const Arguments& arguments, task::Task& task, Backend& backend,
                              const RunOptions& wanted, const OwnFolder& folder) {
  const OwnPlaces places = TRY(OwnPlaces::find_in(folder, arguments));
  const Spec spec = TRY(task.spec());
  const Plan plan = TRY(make_plan(spec, backend.probe()));
  const Redaction redaction = redaction_for(plan);
  EventSinks events(redaction);
  TRY(events.open(arguments, places));
  RunOptions options = wanted;
  observe_what_is_asked(arguments, spec, options);
  std::unique_ptr<RunEvidence> evidence;
  if (const OwnPlace* place = places.at("--evidence"))
    evidence = TRY(RunEvidence::begin(*place, arguments, spec, redaction, options, events));
  EventSink& sink = evidence ? static_cast<EventSink&>(*evidence) : events;
  Finished finished = TRY(task.run(backend, options, sink));
  const Outcome& outcome = finished.outcome;
  if (evidence) {
    const TaskEvidence about = TRY(evidence_of(task));
    TRY(evidence->finish(finished.plan, outcome, exit_code_of(outcome, finished.plan.on_violation),
                         &about));
  }
  TRY(events.close());
  return finished;
}

// Those that the whole batch has.
Result<OwnPlaces> shared_places(const Arguments& arguments) {
  Arguments shared = arguments;
  std::erase_if(shared.options, [](const Given& given) { return is_per_task(given.name); });
  return OwnPlaces::find(shared);
}

Result<task::BatchOptions> batch_options(const Arguments& arguments) {
  task::BatchOptions options;
  const std::string out = TRY(absolute_path(arguments.last("--out")));
  options.folder = TRY(OwnPlace::find(out));
  TRY(options.folder.check_for_folder());
  options.jobs = TRY(count_of(arguments, "--jobs", std::thread::hardware_concurrency()));
  options.retries = TRY(count_of(arguments, "--retries", options.retries));
  options.exit_code = exit_code_of;
  options.keep_changes = TRY(name_in_folder(arguments, "--keep-changes", "changes"));
  const std::string evidence = TRY(name_in_folder(arguments, "--evidence", "evidence"));
  const std::string events = TRY(name_in_folder(arguments, "--events", "events.jsonl"));
  // Before anything is run: it is not to fail once for each task.
  std::string key;
  if (arguments.has("--key")) {
    const KeyFile file = TRY(KeyFile::open(arguments.last("--key")));
    key = file.key().public_key().id();
  }
  if (evidence.empty() && events.empty() && !arguments.has("--prove")) return options;
  options.record = fmt::format("{}\n{}\n{}\n{}", evidence, events, arguments.has("--prove"), key);
  options.run = [arguments](task::Task& task, Backend& backend, const RunOptions& wanted,
                            const OwnFolder& folder) {
    return run_recorded(arguments, task, backend, wanted, folder);
  };
  return options;
}

void say_what_came_of(const task::BatchProgress& progress, const std::string& repository) {
  std::string text = fmt::format(
      "{} tasks: {} done now, {} before, {} failed, {} of them not the command's\n", progress.total,
      progress.done - progress.resumed, progress.resumed, progress.failed, progress.infra);
  if (progress.denied != 0)
    text += fmt::format(
        "{} of {} tasks tried what is not allowed: 'violations' and the manifests "
        "say which\n",
        progress.denied, progress.total);
  print(text);
  const std::set<std::string>& missing = progress.missing_submodules;
  complain_of_missing_submodules({missing.begin(), missing.end()}, repository);
}

}  // namespace

Result<int> task_batch(const Arguments& arguments) {
  task::TaskRequest usual = TRY(task_request(arguments, NeedsId::No));
  // A batch is too long to be read: a denied attempt has to be a failure.
  if (!usual.draft.on_violation) usual.draft.on_violation = OnViolation::Fail;
  const std::string& file = arguments.words.back();
  if (arguments.last("--out").empty()) return invalid("no place for the results", "give --out DIR");
  const std::string text = TRY(read_whole_file(file));
  std::vector<task::BatchTask> tasks = TRY(task::parse_batch(text, file, usual));
  const bool installs = std::ranges::any_of(
      tasks, [](const task::BatchTask& task) { return !task.request.python.lockfile.empty(); });
  if (!installs) TRY(check_lockfile(arguments));
  task::BatchOptions options = TRY(batch_options(arguments));
  const OwnPlaces places = TRY(shared_places(arguments));
  TRY(places.check_writable());
  options.check_places = [&](const Spec& spec) { return places.check_out_of_reach(spec); };
  const std::unique_ptr<Backend> backend = TRY(backend_named(""));
  Cache cache = TRY(Cache::open());
  const MakingLine making(cache, arguments.has("--quiet"));
  task::Batch batch(std::move(tasks), std::move(options), cache, *backend);
  ProgressLine line(arguments.has("--quiet"));
  Result<task::BatchProgress> progress = unsupported("nothing was run");
  int stopping_signal = 0;
  {
    const StopSignals stopping([&] { batch.stop(); });
    progress = batch.run([&](const task::BatchProgress& now) { line.show(now); });
    stopping_signal = stopping.caught();
  }
  if (!progress) return std::move(progress).error();
  if (progress->set_aside != 0)
    complain(
        {.message = fmt::format(
             "earlier results that belong to no task of '{}' as it is now are kept in '{}': {}",
             printable(file), printable(progress->former_file), progress->set_aside)});
  if (const OwnPlace* place = places.at("--metrics"))
    TRY(write_own_file(*place, task::task_metrics(batch.durations())));
  if (const int signal = stopping_signal; signal != 0) {
    complain({.message = fmt::format(
                  "stopped: {} of {} tasks are done and kept in '{}'; what was under way is not",
                  progress->done, progress->total, printable(arguments.last("--out"))),
              .hint = "the same command goes on from there"});
    return kSignalBase + signal;
  }
  if (!arguments.has("--quiet")) say_what_came_of(*progress, arguments.last("--repo"));
  if (progress->why_infra && !arguments.has("--quiet")) {
    Error why = *progress->why_infra;
    const std::string place = to_string(why.origin);
    why.message = fmt::format("could not be set up: {} of {} tasks, the first because {}{}{}",
                              progress->infra, progress->total, place, place.empty() ? "" : ": ",
                              why.message);
    why.origin = {};
    complain(why);
  }
  return progress->infra != 0 ? kFailed : progress->failed != 0 ? 1 : kSuccess;
}

}  // namespace hermetic::cli
