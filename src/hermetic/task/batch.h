// Batch: many tasks, several at once, one line of JSON for each, in their order.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/task/batch_results.h"
#include "hermetic/task/stoppable_backend.h"
#include "hermetic/task/task.h"
#include "hermetic/task/task_record.h"
#include "hermetic/task/work.h"

namespace hermetic::task {

struct BatchTask {
  std::size_t number = 0;  // its line, from 1
  TaskRequest request;
};

// A JSON object on each line: "task_id" and "command", and what else a task takes: "sha", "seed",
// "lockfile", "config", "repo", and under "spec" the keys of a spec file. What a line does not say
// is as in `usual`. Fails with file, line and remedy.
[[nodiscard]] Result<std::vector<BatchTask>> parse_batch(std::string_view text,
                                                         const std::string& file,
                                                         const TaskRequest& usual);

struct BatchOptions {
  OwnPlace folder;  // results.jsonl, and a folder for each task with its manifest and streams
  unsigned jobs = 1;
  unsigned retries = 1;  // of what failed because something could not be made; never of a command
  std::string keep_changes =
      {};  // the name of what keeps them in the folder of a task; "": nothing
  std::size_t capture_bytes = std::size_t{1} << 20U;  // a stream
  std::function<int(const Outcome& outcome, OnViolation policy)> exit_code;
  // Fails if the command of a task could write to what else is written about the batch.
  std::function<Result<void>(const Spec& spec)> check_places = {};
  // Runs the command of a task; what it writes down about it goes into `folder`. None: Task::run().
  std::function<Result<Finished>(Task& task, Backend& backend, const RunOptions& options,
                                 const OwnFolder& folder)>
      run = {};
  // What that writes down: who wants something else written has another result.
  std::string record = {};
};

struct BatchProgress {
  std::size_t done = 0;  // those that an earlier batch has done included
  std::size_t total = 0;
  std::size_t resumed = 0;
  std::size_t failed = 0;  // not "none"
  std::size_t infra = 0;
  std::size_t denied = 0;        // whose commands have tried what is not allowed
  std::size_t set_aside = 0;     // results of earlier batches that belong to no task of this one
  std::string former_file = {};  // where they are now
  std::optional<Error> why_infra = {};            // of the first that could not be set up
  std::set<std::string> missing_submodules = {};  // of those that were done now
};

class Batch {
 public:
  Batch(std::vector<BatchTask> tasks, BatchOptions options, Cache& cache, Backend& backend)
      : tasks_(std::move(tasks)), options_(std::move(options)), cache_(cache), backend_(backend) {}

  // What was done in the same folder for equal work is not done again, wherever it stands.
  // `on_progress` is called whenever a task has ended, from any thread, one at a time.
  [[nodiscard]] Result<BatchProgress> run(
      const std::function<void(const BatchProgress&)>& on_progress);

  // No task is begun any more, and those under way are ended; they will be done again. From any
  // thread.
  void stop() { stopper_.stop(); }

  // Of all tasks that are done, whenever that was.
  [[nodiscard]] const std::vector<Durations>& durations() const { return durations_; }

 private:
  // How far an attempt got.
  struct Attempt {
    unsigned count = 0;
    bool can_get_better = true;
    bool was_cut_short = false;
  };
  Result<void> find_work();
  [[nodiscard]] WorkReader reader(Backend& backend);
  Result<Task> set_up(std::size_t place);
  void work();
  void run_task(std::size_t place);
  Result<BatchResult> try_task(std::size_t place, const std::string& name, Attempt& attempt);
  void give_up(std::size_t place, unsigned attempts, const Error& error);
  void add(std::size_t place, const BatchResult& result);
  void count(const BatchResult& result);
  void note_missing(const Checkout& checkout);

  std::vector<BatchTask> tasks_;
  BatchOptions options_;
  Cache& cache_;
  Backend& backend_;
  Stopper stopper_;

  std::vector<Work> work_;         // of each task
  std::vector<std::size_t> todo_;  // places in tasks_
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // of all that follows
  std::optional<BatchResults> results_;
  BatchProgress progress_;
  std::function<void(const BatchProgress&)> on_progress_;
  std::optional<Error> error_;
  std::vector<Durations> durations_;
};

}  // namespace hermetic::task
