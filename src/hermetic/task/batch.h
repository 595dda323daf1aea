// Batch: many tasks, several at once, one line of JSON for each, in their order.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/task/task.h"
#include "hermetic/task/task_record.h"

namespace hermetic::task {

struct BatchTask {
  std::size_t number = 0;  // its line, from 1
  std::string digest;      // of the line and of what it is put over: the same work, the same digest
  TaskRequest request;
};

// A JSON object on each line: "task_id" and "command", and what else a task takes: "sha", "seed",
// "lockfile", "config", "repo", and under "spec" the keys of a spec file. What a line does not say
// is as in `usual`. Fails with file, line and remedy.
[[nodiscard]] Result<std::vector<BatchTask>> parse_batch(std::string_view text,
                                                         const std::string& file,
                                                         const TaskRequest& usual);

struct BatchOptions {
  std::string folder;  // results.jsonl, and a folder for each task with its manifest and streams
  unsigned jobs = 1;
  unsigned retries = 1;  // of what failed because something could not be made; never of a command
  bool keep_changes = false;
  std::size_t capture_bytes = std::size_t{1} << 20U;  // a stream
  std::function<int(const Outcome& outcome, OnViolation policy)> exit_code;
};

struct BatchProgress {
  std::size_t done = 0;  // those that an earlier batch has done included
  std::size_t total = 0;
  std::size_t resumed = 0;
  std::size_t failed = 0;  // not "none"
  std::size_t infra = 0;
};

class Batch {
 public:
  Batch(std::vector<BatchTask> tasks, BatchOptions options, Cache& cache, Backend& backend)
      : tasks_(std::move(tasks)), options_(std::move(options)), cache_(cache), backend_(backend) {}

  // Goes on where an earlier batch in the same folder was stopped. `on_progress` is called whenever
  // a task has ended, from any thread, one at a time.
  [[nodiscard]] Result<BatchProgress> run(
      const std::function<void(const BatchProgress&)>& on_progress);

  // No task is begun any more, and those under way are ended; they will be done again. From any
  // thread.
  void stop();

  [[nodiscard]] const std::vector<Durations>& durations() const { return durations_; }

 private:
  struct Done {
    std::string line;
    Failure failure;
    Durations durations;
  };
  void work();
  Done run_task(const BatchTask& task);
  Result<Done> try_task(const BatchTask& task, unsigned attempt);
  void add(std::size_t place, Done done);

  std::vector<BatchTask> tasks_;
  BatchOptions options_;
  Cache& cache_;
  Backend& backend_;

  std::atomic<bool> stopped_ = false;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;                     // of all that follows
  std::map<std::size_t, Done> waiting_;  // ended, and something before them has not
  std::size_t written_ = 0;
  UniqueFd results_;
  std::set<Run*> running_;
  BatchProgress progress_;
  std::function<void(const BatchProgress&)> on_progress_;
  std::optional<Error> error_;
  std::vector<Durations> durations_;
};

}  // namespace hermetic::task
