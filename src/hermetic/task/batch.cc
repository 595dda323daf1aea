#include "hermetic/task/batch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/record/usage_json.h"
#include "hermetic/run/event.h"
#include "hermetic/task/task_record.h"

namespace hermetic::task {
namespace {

using nlohmann::json;

std::string folder_name(const BatchTask& task) {
  return fmt::format("{:06}-{}", task.number, task.request.id);
}

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return system_error(fmt::format("cannot make '{}'", printable(path)), errno);
}

Result<void> append(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(file, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error("cannot write the results", errno);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

json line_for(const BatchTask& task, unsigned attempts, Failure failure) {
  return {{"number", task.number},
          {"task_id", task.request.id},
          {"digest", task.digest},
          {"failure", to_string(failure)},
          {"attempts", attempts}};
}

// How many tasks an earlier batch has done: whole lines, from the first on, for the same work. What
// follows them is cut off.
Result<std::size_t> resume(int results, const std::string& path,
                           const std::vector<BatchTask>& tasks, BatchProgress& progress) {
  const std::string text = TRY(read_whole_file(path));
  std::size_t done = 0;
  std::size_t kept = 0;
  while (done < tasks.size()) {
    const std::size_t end = text.find('\n', kept);
    if (end == std::string::npos) break;
    const json line = parse_bounded_json(std::string_view(text).substr(kept, end - kept));
    if (!line.is_object() || line.value("digest", "") != tasks[done].digest ||
        line.value("number", std::size_t{0}) != tasks[done].number)
      break;
    const std::string failure = line.value("failure", "infra");
    if (failure == to_string(Failure::Infra)) break;  // it is tried again, and all after it
    if (failure != to_string(Failure::None)) ++progress.failed;
    kept = end + 1;
    ++done;
  }
  if (::ftruncate(results, static_cast<off_t>(kept)) != 0 || ::lseek(results, 0, SEEK_END) < 0)
    return system_error("cannot go on with the results", errno);
  return done;
}

}  // namespace

Result<Batch::Done> Batch::try_task(const BatchTask& task, unsigned attempt) {
  Task prepared = TRY(Task::set_up(task.request, cache_, backend_));
  RunOptions options;
  options.standard_input = -1;
  options.capture_bytes = options_.capture_bytes;
  Silence events;
  Run* mine = nullptr;
  const Finished finished = TRY(prepared.run(backend_, options, events, [&](Run* run) {
    const std::lock_guard guard(mutex_);
    if (run == nullptr) running_.erase(mine);
    mine = run;
    if (run != nullptr) running_.insert(run);
    if (run != nullptr && stopped_) run->kill();
  }));
  const Outcome& outcome = finished.outcome;
  TaskRecord record =
      TRY(record_of(prepared, finished, options_.exit_code(outcome, finished.plan.on_violation)));
  const std::string folder = options_.folder + "/" + folder_name(task);
  TRY(remove_tree(AT_FDCWD, folder));
  TRY(make_directory(folder));
  if (options_.keep_changes)
    if (Result<void> kept = prepared.keep_changes(folder + "/changes"); !kept) {
      // Not the command's doing.
      if (kept.error().kind == Error::Kind::System) return std::move(kept).error();
      record.not_kept = kept.error().message;
    }
  record.certificate = prepared.clean_up();
  TRY(write_file_whole(folder + "/manifest.json", task_manifest(prepared, record, outcome)));
  TRY(write_file_whole(folder + "/stdout.txt", outcome.standard_output.text));
  TRY(write_file_whole(folder + "/stderr.txt", outcome.standard_error.text));
  const Durations& durations = prepared.durations();
  json line = line_for(task, attempt, record.failure);
  const json facts = {
      {"run_id", prepared.run_id()},
      {"exit_code", record.exit_code},
      {"hermetic", record.hermetic},
      {"violations", outcome.violations.size()},
      {"stable_hash", record.stable_hash},
      {"result_hash", result_hash(record, outcome)},
      {"changes", record.changes.size()},
      {"changes_not_kept", record.not_kept.empty() ? json() : json(printable(record.not_kept))},
      {"stdout_sha256", sha256(outcome.standard_output.text)},
      {"stderr_sha256", sha256(outcome.standard_error.text)},
      {"truncated", outcome.standard_output.truncated || outcome.standard_error.truncated},
      {"usage", usage_as_json(outcome.usage)},
      {"durations",
       {{"setup_ms", milliseconds(durations.setup)},
        {"command_ms", milliseconds(durations.command)},
        {"cleanup_ms", milliseconds(durations.cleanup)}}},
      {"clean", record.certificate.left.empty()},
      {"folder", folder_name(task)}};
  line.update(facts);
  return Done{line.dump() + "\n", record.failure, durations};
}

Batch::Done Batch::run_task(const BatchTask& task) {
  for (unsigned attempt = 1;; ++attempt) {
    Result<Done> done = try_task(task, attempt);
    if (done) return std::move(*done);
    // What is wrong with the request itself is not put right by trying again.
    const bool hopeless = done.error().kind == Error::Kind::InvalidSpec;
    if (!hopeless && attempt <= options_.retries && !stopped_) continue;
    json line = line_for(task, attempt, Failure::Infra);
    line["error"] = to_string(done.error());
    line["exit_code"] = nullptr;
    return {line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", Failure::Infra, {}};
  }
}

void Batch::add(std::size_t place, Done done) {
  const std::lock_guard guard(mutex_);
  if (stopped_) return;  // it was ended, not done
  ++progress_.done;
  if (done.failure != Failure::None) ++progress_.failed;
  if (done.failure == Failure::Infra) ++progress_.infra;
  if (done.durations.setup.count() != 0) durations_.push_back(done.durations);
  waiting_.emplace(place, std::move(done));
  for (auto first = waiting_.find(written_); first != waiting_.end();
       first = waiting_.find(++written_)) {
    if (Result<void> written = append(results_.get(), first->second.line); !written && !error_) {
      error_ = written.error();
      stopped_ = true;
    }
    waiting_.erase(first);
  }
  if (on_progress_) on_progress_(progress_);
}

void Batch::work() {
  while (!stopped_) {
    const std::size_t place = next_++;
    if (place >= tasks_.size()) return;
    add(place, run_task(tasks_[place]));
  }
}

Result<BatchProgress> Batch::run(const std::function<void(const BatchProgress&)>& on_progress) {
  on_progress_ = on_progress;
  progress_.total = tasks_.size();
  TRY(make_directory(options_.folder));
  const std::string path = options_.folder + "/results.jsonl";
  results_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!results_.is_open())
    return system_error(fmt::format("cannot write '{}'", printable(path)), errno);
  if (::flock(results_.get(), LOCK_EX | LOCK_NB) != 0)
    return unsupported(fmt::format("another batch works in '{}'", printable(options_.folder)),
                       "wait for it, or choose another folder");
  progress_.resumed = TRY(resume(results_.get(), path, tasks_, progress_));
  progress_.done = progress_.resumed;
  next_ = progress_.resumed;
  written_ = progress_.resumed;
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < std::max(options_.jobs, 1U); ++i)
    workers.emplace_back([this] { work(); });
  for (std::thread& worker : workers) worker.join();
  if (error_) return *error_;
  return progress_;
}

void Batch::stop() {
  stopped_ = true;
  const std::lock_guard guard(mutex_);
  for (Run* run : running_) run->kill();
}

}  // namespace hermetic::task
