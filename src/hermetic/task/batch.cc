#include "hermetic/task/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/work_at_once.h"
#include "hermetic/record/usage_json.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/reach.h"

namespace hermetic::task {
namespace {

using nlohmann::json;

// Every line has every key; what is not known is null.
json line_for(const BatchTask& task, const Work& work, unsigned attempts, Failure failure) {
  json line = {{"number", task.number},
               {"task_id", task.request.id},
               {"digest", work.digest},
               {"failure", to_string(failure)},
               {"attempts", attempts}};
  for (const char* key :
       {"changes", "changes_not_kept", "clean", "durations", "error", "exit_code", "folder",
        "hermetic", "result_hash", "run_id", "stable_hash", "stderr_sha256", "stdout_sha256",
        "submodules_missing", "truncated", "usage", "violations"})
    line[key] = nullptr;
  return line;
}

// Something that a task names is not there: trying again will not bring it.
bool is_missing(const Error& error) {
  constexpr std::array kMissing = {ENOENT, ENOTDIR, EISDIR, EACCES, EPERM, ELOOP, ENAMETOOLONG};
  return error.kind == Error::Kind::InvalidSpec ||
         std::ranges::find(kMissing, error.os_error) != kMissing.end();
}

// The host can give what the command's spec needs.
bool can_be_planned(const Task& task, const Backend& backend) {
  const Result<Spec> spec = task.spec();
  return spec && make_plan(*spec, backend.probe());
}

}  // namespace

WorkReader Batch::reader(Backend& backend) {
  return {fmt::format("{}\n{}\n{}", options_.keep_changes, options_.capture_bytes, options_.record),
          cache_, backend};
}

// What a task is made of may have changed since it was looked at. If it is the same before and
// after, that is what it was made of; else it is made again.
Result<Task> Batch::set_up(std::size_t place) {
  constexpr int kMostChanges = 10;
  StoppableBackend making(backend_, stopper_);
  TaskRequest request = tasks_[place].request;
  for (int i = 0; i < kMostChanges; ++i) {
    Task prepared = TRY(Task::set_up(request, cache_, making));
    Work now = reader(making).look_at(request, &prepared);
    const bool is_same = now.digest == work_[place].digest;
    work_[place] = std::move(now);
    if (is_same) return prepared;
  }
  return system_error("what the task is made of changes all the time", EAGAIN,
                      "wait until whoever writes the lockfile, config or repository is done");
}

Result<BatchResult> Batch::try_task(std::size_t place, const std::string& name, Attempt& attempt) {
  const BatchTask& task = tasks_[place];
  Task prepared = TRY(set_up(place));
  note_missing(prepared.checkout());
  const Spec spec = TRY(prepared.spec());
  const Reach reach = TRY(Reach::of(spec));
  TRY(options_.folder.check_out_of_reach(reach, "--out", Reach::Extent::WithWhatLiesInIt));
  if (options_.check_places) TRY(options_.check_places(spec));
  const OwnFolder folder = TRY(results_->make(name));
  RunOptions options;
  options.standard_input = -1;
  options.capture_bytes = options_.capture_bytes;
  Silence events;
  StoppableBackend backend(backend_, stopper_);
  Result<Finished> ran = options_.run ? options_.run(prepared, backend, options, folder)
                                      : prepared.run(backend, options, events);
  // A command is run once, whatever becomes of what it leaves.
  attempt.was_cut_short = backend.was_cut_short();
  attempt.can_get_better = !backend.has_started() && (ran || can_be_planned(prepared, backend));
  const Finished finished = TRY(std::move(ran));
  const Outcome& outcome = finished.outcome;
  TaskRecord record =
      TRY(record_of(prepared, finished, options_.exit_code(outcome, finished.plan.on_violation)));
  if (!options_.keep_changes.empty()) {
    const OwnPlace changes = TRY(OwnPlace::in_folder(folder, options_.keep_changes));
    if (Result<void> kept = prepared.keep_changes(changes); !kept) {
      // Not the command's doing.
      if (kept.error().kind == Error::Kind::System) return std::move(kept).error();
      record.not_kept = kept.error().message;
    }
  }
  record.certificate = prepared.clean_up();
  const std::array<std::pair<const char*, std::string>, 3> files = {
      {{"manifest.json", task_manifest(prepared, record, outcome)},
       {"stdout.txt", outcome.standard_output.text},
       {"stderr.txt", outcome.standard_error.text}}};
  for (const auto& [file, text] : files)
    TRY(write_file_in(folder.descriptor.get(), file, text, join(folder.path, file)));
  const Durations& durations = prepared.durations();
  json line = line_for(task, work_[place], attempt.count, record.failure);
  const json facts = {
      {"run_id", prepared.run_id()},
      {"exit_code", record.exit_code},
      {"hermetic", record.hermetic},
      {"violations", outcome.violations.size()},
      {"stable_hash", record.stable_hash},
      {"result_hash", result_hash(record, outcome)},
      {"changes", record.changes.size()},
      {"submodules_missing", printable_all(prepared.checkout().missing_submodules)},
      {"changes_not_kept", record.not_kept.empty() ? json() : json(printable(record.not_kept))},
      {"stdout_sha256", sha256(outcome.standard_output.text)},
      {"stderr_sha256", sha256(outcome.standard_error.text)},
      {"truncated", outcome.standard_output.truncated || outcome.standard_error.truncated},
      {"usage", usage_as_json(outcome.usage)},
      {"durations", durations_as_json(durations)},
      {"clean", record.certificate.left.empty()},
      {"folder", name}};
  line.update(facts);
  return BatchResult{.line = line.dump(),
                     .number = task.number,
                     .digest = work_[place].digest,
                     .failure = record.failure,
                     .denied = !outcome.violations.empty(),
                     .folder = name,
                     .durations = durations};
}

void Batch::give_up(std::size_t place, unsigned attempts, const Error& error) {
  json line = line_for(tasks_[place], work_[place], attempts, Failure::Infra);
  line["error"] = to_string(error);
  add(place, {.line = line.dump(-1, ' ', false, json::error_handler_t::replace),
              .number = tasks_[place].number,
              .digest = work_[place].digest});
  const std::lock_guard guard(mutex_);
  if (!progress_.why_infra) progress_.why_infra = error;
}

void Batch::run_task(std::size_t place) {
  if (const std::optional<Error>& error = work_[place].error; error && is_missing(*error))
    return give_up(place, 1, *error);
  std::string name;
  {
    const std::lock_guard guard(mutex_);
    name = results_->new_folder(tasks_[place].number, tasks_[place].request.id);
  }
  Attempt attempt;
  for (;;) {
    ++attempt.count;
    attempt.can_get_better = true;
    Result<BatchResult> result = try_task(place, name, attempt);
    if (result && !attempt.was_cut_short) return add(place, *result);
    results_->give_up(name);
    if (stopper_.is_stopped()) return;  // it was ended, not done
    const Error& error = result.error();
    const bool try_again = attempt.can_get_better && error.kind != Error::Kind::InvalidSpec;
    if (!try_again || attempt.count > options_.retries) return give_up(place, attempt.count, error);
  }
}

void Batch::note_missing(const Checkout& checkout) {
  const std::lock_guard guard(mutex_);
  progress_.missing_submodules.insert(checkout.missing_submodules.begin(),
                                      checkout.missing_submodules.end());
}

void Batch::count(const BatchResult& result) {
  ++progress_.done;
  if (result.failure != Failure::None) ++progress_.failed;
  if (result.failure == Failure::Infra) ++progress_.infra;
  if (result.denied) ++progress_.denied;
  if (result.durations) durations_.push_back(*result.durations);
}

void Batch::add(std::size_t place, const BatchResult& result) {
  std::optional<Error> error;
  {
    const std::lock_guard guard(mutex_);
    const Result<void> added = results_->add(place, result);
    if (!added) error = added.error();
    if (!added && !error_) error_ = error;
    if (added) count(result);
    if (added && on_progress_) on_progress_(progress_);
  }
  if (error) stop();
}

void Batch::work() {
  while (!stopper_.is_stopped()) {
    const std::size_t next = next_++;
    if (next >= todo_.size()) return;
    run_task(todo_[next]);
  }
}

// What there is to do, and what of it is done.
Result<void> Batch::find_work() {
  StoppableBackend backend(backend_, stopper_);
  WorkReader looking = reader(backend);
  std::vector<BatchResults::Wanted> wanted;
  for (BatchTask& task : tasks_) {
    work_.push_back(looking.look_at(task.request));
    if (stopper_.is_stopped()) return {};
    wanted.push_back({.number = task.number, .digest = work_.back().digest});
  }
  TRY(results_->resume(wanted));
  for (std::size_t place = 0; place < tasks_.size(); ++place) {
    const std::optional<BatchResult>& result = results_->at(place);
    if (!result || result->failure == Failure::Infra)
      todo_.push_back(place);
    else
      count(*result);
  }
  progress_.resumed = progress_.done;
  progress_.set_aside = results_->set_aside();
  progress_.former_file = results_->former_file();
  return {};
}

Result<BatchProgress> Batch::run(const std::function<void(const BatchProgress&)>& on_progress) {
  on_progress_ = on_progress;
  progress_.total = tasks_.size();
  results_ = TRY(BatchResults::open(options_.folder));
  cache_.give_up_when([this] { return stopper_.is_stopped(); });
  const Result<void> found = find_work();
  if (found)
    work_at_once(std::clamp<std::size_t>(options_.jobs, 1, std::max<std::size_t>(todo_.size(), 1)),
                 [this] { work(); });
  cache_.give_up_when({});
  if (!found) return found.error();
  const Result<void> in_order = results_->finish();
  if (error_) return *error_;
  if (!in_order) return in_order.error();
  return progress_;
}

}  // namespace hermetic::task
