#include "hermetic/task/task_record.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/usage_json.h"

namespace hermetic::task {
namespace {

using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(printable(text)); }

template <class Map>
json map_or_null(const std::optional<Map>& map) {
  return map ? json(*map) : json();
}

json changes_as_json(const std::vector<Change>& changes) {
  json list = json::array();
  for (const Change& change : changes) {
    json entry = {{"change", to_string(change.kind)},
                  {"path", printable(change.path)},
                  {"type", change.type}};
    if (change.kind != Change::Kind::Removed) {
      entry["mode"] = change.mode;
      entry["size_bytes"] = change.size_bytes;
      entry["sha256"] = text_or_null(change.digest);
    }
    if (change.unlisted) entry["unlisted"] = true;
    list.push_back(std::move(entry));
  }
  return list;
}

// What is not known of one that has not ended is null.
json command_as_json(const LoggedCommand& command) {
  json object = {{"command", printable_all(command.given.words)},
                 {"exit_code", nullptr},
                 {"failure", nullptr},
                 {"hermetic", nullptr},
                 {"guard_ms", milliseconds(command.guard)},
                 {"command_ms", nullptr}};
  if (!command.end) return object;
  if (command.end->exit_code) object["exit_code"] = *command.end->exit_code;
  object["failure"] = to_string(command.end->failure);
  object["hermetic"] = command.end->hermetic;
  object["command_ms"] = milliseconds(command.time);
  return object;
}

// The value below which so many of a hundred lie.
double percentile(std::vector<double> values, unsigned percent) {
  std::ranges::sort(values);
  const std::size_t place = (values.size() * percent + 99) / 100;
  return values[std::max<std::size_t>(place, 1) - 1];
}

}  // namespace

Result<void> read_commands(const Task& task, TaskRecord& record) {
  record.commands = task.log().commands();
  // What is wrong with what all commands are given is said when one is to run.
  if (Result<std::string> hash = task.stable_hash(); hash || !record.commands.empty())
    record.stable_hash = TRY(std::move(hash));
  record.hermetic = std::ranges::all_of(record.commands, [](const LoggedCommand& command) {
    return command.end && command.end->hermetic;
  });
  if (record.commands.empty() || !record.commands.back().end) return {};
  const CommandEnd& last = *record.commands.back().end;
  record.failure = last.failure;
  record.exit_code = last.exit_code.value_or(0);
  return {};
}

Result<TaskRecord> record_of(const Task& task, const Finished& finished, int exit_code) {
  TaskRecord record;
  TRY(read_commands(task, record));
  if (!record.commands.empty() && record.commands.back().end)
    record.commands.back().end->exit_code = exit_code;
  record.failure = failure_of(finished.plan, finished.outcome);
  record.exit_code = exit_code;
  record.changes = TRY(task.changes());
  record.scratch = TRY(task.scratch_listing());
  return record;
}

std::string result_hash(const TaskRecord& record, const Outcome& outcome) {
  const json result = {{"changes", changes_as_json(record.changes)},
                       {"exit_code", record.exit_code},
                       {"failure", to_string(record.failure)},
                       {"stdout_sha256", sha256(outcome.standard_output.text)},
                       {"stderr_sha256", sha256(outcome.standard_error.text)}};
  return sha256(canonical_json(result));
}

std::string task_manifest(const Task& task, const TaskRecord& record, const Outcome& outcome) {
  const TaskRequest& request = task.request();
  const TaskConfig& config = task.config();
  const Durations durations = task.durations();
  json commands = json::array();
  for (const LoggedCommand& command : record.commands) commands.push_back(command_as_json(command));
  // Facts of the last one; of a task that has run nothing there are none.
  const json last = commands.empty() ? json::object() : commands.back();
  const bool has_ended = last.contains("failure") && !last["failure"].is_null();
  const json promised = commands.empty() && record.promised ? json(*record.promised) : json();
  const auto of_last = [&](const char* key) { return last.contains(key) ? last[key] : json(); };
  json scratch = json::array();
  for (const ListedFile& entry : record.scratch) {
    scratch.push_back({{"path", printable(entry.path)}, {"size_bytes", entry.size_bytes}});
    if (entry.unlisted) scratch.back()["unlisted"] = true;
  }

  const json manifest = {
      {"version", 1},
      {"task_id", request.id},
      {"run_id", task.run_id()},
      {"seed", request.seed ? json(*request.seed) : json()},
      {"repo_sha", task.checkout().commit},
      {"base_sha", task.base_commit()},
      {"tree_sha", task.checkout().tree},
      {"submodules_missing", printable_all(task.checkout().missing_submodules)},
      {"config_hash", text_or_null(config.hash)},
      {"lockfile_sha", text_or_null(task.environment().lockfile_sha)},
      {"lockfile_has_hashes",
       task.environment().has_hashes ? json(*task.environment().has_hashes) : json()},
      {"node_lockfile_sha", task.node() ? json(task.node()->lockfile_sha) : json()},
      {"venv_hash", task.environment().hash},
      {"os_fingerprint", os_fingerprint(task.environment().version)},
      {"hermetic", has_ended ? json(record.hermetic) : promised},
      {"scratch_path", printable(task.scratch_path())},
      {"worktree_path", printable(task.worktree_path())},
      {"venv_path", printable(task.venv_path())},
      {"model_shas", map_or_null(config.model_shas)},
      {"tokenizer_shas", map_or_null(config.tokenizer_shas)},
      {"quantization", map_or_null(config.quantization)},
      {"command", of_last("command")},
      {"exit_code", has_ended ? json(record.exit_code) : json()},
      {"failure", of_last("failure")},
      {"commands", commands},
      {"changes", changes_as_json(record.changes)},
      {"changes_not_kept", text_or_null(record.not_kept)},
      {"scratch", std::move(scratch)},
      {"durations", durations_as_json(durations)},
      {"cleanup",
       {{"made", record.certificate.made},
        {"removed", record.certificate.removed},
        {"left", record.certificate.left}}},
      {"stable_hash", text_or_null(record.stable_hash)},
      {"result_hash", has_ended ? json(result_hash(record, outcome)) : json()}};
  return manifest.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json task_facts(const Task& task) {
  const TaskRequest& request = task.request();
  return {{"task_id", request.id},
          {"seed", request.seed ? json(*request.seed) : json()},
          {"repo_sha", task.checkout().commit},
          {"base_sha", task.base_commit()},
          {"tree_sha", task.checkout().tree},
          {"submodules_missing", printable_all(task.checkout().missing_submodules)},
          {"config_hash", text_or_null(task.config().hash)},
          {"lockfile_sha", text_or_null(task.environment().lockfile_sha)},
          {"node_lockfile_sha", task.node() ? json(task.node()->lockfile_sha) : json()},
          {"venv_hash", task.environment().hash}};
}

std::string task_metrics(const std::vector<Durations>& runs) {
  json metrics = json::object();
  for (const char* key : {"bytes_per_solve", "tokens_prefill", "tokens_decode",
                          "e2e_latency_ms_p50", "e2e_latency_ms_p95", "message_path_ms_p95",
                          "mcp_deref_ms_p95", "sae_accept_rate", "rollback_ms_p95", "pass_at_1"})
    metrics[key] = nullptr;
  const auto over_all = [&](std::chrono::nanoseconds Durations::*part, unsigned percent) {
    if (runs.empty()) return json();
    std::vector<double> values;
    for (const Durations& run : runs) values.push_back(milliseconds(run.*part));
    return json(percentile(std::move(values), percent));
  };
  metrics["command_ms_p50"] = over_all(&Durations::command, 50);
  metrics["command_ms_p95"] = over_all(&Durations::command, 95);
  metrics["sandbox_setup_ms_p50"] = over_all(&Durations::setup, 50);
  metrics["sandbox_cleanup_ms_p95"] = over_all(&Durations::cleanup, 95);
  metrics["network_guard_install_ms"] = over_all(&Durations::guard, 50);
  metrics["runs"] = runs.size();
  return readable_json(metrics);
}

}  // namespace hermetic::task
