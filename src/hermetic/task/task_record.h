// What is written down about a task: the manifest, and the metrics of many.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/task/task.h"

namespace hermetic::task {

// Why a task did not end well, told from what the kernel and the sandbox say, not from its words.
enum class Failure {
  None,
  Command,  // it ended by itself, with another code than 0
  Timeout,  // wall or idle time
  OutOfMemory,
  Limit,      // any other limit
  Violation,  // it tried what is not allowed, and that was to be its end
  Signal,     // something ended it by a signal
  Infra,      // the sandbox, the checkout or the environment could not be made
};
[[nodiscard]] std::string_view to_string(Failure failure);  // "none", "command", "timeout"…
[[nodiscard]] Failure failure_of(const Plan& plan, const Outcome& outcome);

// Everything about one run, read before the folder goes.
struct TaskRecord {
  std::string stable_hash;
  std::vector<Change> changes;
  std::vector<ScratchEntry> scratch;
  std::string not_kept;  // why the changes, which somebody wanted to have, could not be kept
  Certificate certificate;
  bool hermetic = false;
  Failure failure = Failure::None;
  int exit_code = 0;
};

// Reads all of it but the certificate, which comes with clean_up().
[[nodiscard]] Result<TaskRecord> record_of(const Task& task, const Finished& finished,
                                           int exit_code);

// Of what came out of it: equal runs of a deterministic command have the same.
[[nodiscard]] std::string result_hash(const TaskRecord& record, const Outcome& outcome);

// How durations are written.
[[nodiscard]] constexpr double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

// JSON, with every key of the format; what is not known is null.
[[nodiscard]] std::string task_manifest(const Task& task, const TaskRecord& record,
                                        const Outcome& outcome);

// Over all runs that were measured. Keys that somebody else measures are there, and null.
[[nodiscard]] std::string task_metrics(const std::vector<Durations>& runs);

}  // namespace hermetic::task
