// What is written down about a task: the manifest, and the metrics of many.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/base/result.h"
#include "hermetic/task/task.h"

namespace hermetic::task {

// Everything about one run, read before the folder goes.
struct TaskRecord {
  std::string stable_hash;
  std::vector<LoggedCommand> commands;
  std::vector<Change> changes;
  std::vector<ListedFile> scratch;
  std::string not_kept;  // why the changes, which somebody wanted to have, could not be kept
  Certificate certificate;
  bool hermetic = false;              // all commands were
  std::optional<bool> promised = {};  // before the first: whether all clauses will be enforced
  Failure failure = Failure::None;    // of the last command
  int exit_code = 0;
};

// Reads which commands there were, and how they ended.
[[nodiscard]] Result<void> read_commands(const Task& task, TaskRecord& record);

// Reads all of it but the certificate, which comes with clean_up().
[[nodiscard]] Result<TaskRecord> record_of(const Task& task, const Finished& finished,
                                           int exit_code);

// Of what came out of it: equal runs of a deterministic command have the same.
[[nodiscard]] std::string result_hash(const TaskRecord& record, const Outcome& outcome);

// JSON, with every key of the format; what is not known is null.
[[nodiscard]] std::string task_manifest(const Task& task, const TaskRecord& record,
                                        const Outcome& outcome);

// Of a task, for evidence: what is the same in every equal one, on any machine.
[[nodiscard]] nlohmann::json task_facts(const Task& task);

// Over all runs that were measured. Keys that somebody else measures are there, and null.
[[nodiscard]] std::string task_metrics(const std::vector<Durations>& runs);

}  // namespace hermetic::task
