// From lines of JSON to the tasks of a batch.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/spec/loader.h"
#include "hermetic/task/batch.h"

namespace hermetic::task {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> kKeys = {"task_id",  "command", "sha",  "seed",
                                                   "lockfile", "config",  "repo", "spec"};

class LineReader {
 public:
  LineReader(const std::string& file, std::size_t number, json line)
      : origin_{file, static_cast<int>(number), 1}, line_(std::move(line)) {}

  Result<TaskRequest> read(const TaskRequest& usual) {
    if (!line_.is_object()) return refuse("is no JSON object", "write {\"task_id\": …}");
    for (const auto& [key, value] : line_.items())
      if (std::ranges::find(kKeys, key) == kKeys.end())
        return refuse(fmt::format("has the unknown key '{}'", printable(key)),
                      fmt::format("known keys: {}", fmt::join(kKeys, ", ")));
    TaskRequest request = usual;
    TRY(text("task_id", request.id));
    TRY(text("sha", request.revision));
    TRY(text("repo", request.repository));
    TRY(text("lockfile", request.python.lockfile));
    TRY(text("config", request.config));
    if (request.id.empty()) return refuse("has no 'task_id'", "name the task");
    if (Result<void> named = check_task_name(request.id); !named)
      return refuse(fmt::format("has a bad 'task_id': {}", named.error().message),
                    named.error().hint);
    if (line_.contains("seed")) {
      const json& seed = line_["seed"];
      if (!seed.is_number_unsigned() || seed.get<std::uint64_t>() > UINT32_MAX)
        return refuse("has a bad 'seed'", "write a number from 0 to 4294967295");
      request.seed = seed.get<std::uint32_t>();
    }
    request.draft = TRY(draft(usual.draft));
    if (request.draft.command.empty()) return refuse("has no 'command'", "write a list of texts");
    return request;
  }

 private:
  Error refuse(const std::string& what, const std::string& remedy) const {
    return invalid("the task " + what, remedy, origin_);
  }

  Result<void> text(const char* key, std::string& value) {
    if (!line_.contains(key)) return {};
    if (!line_[key].is_string()) return refuse(fmt::format("has a bad '{}'", key), "write a text");
    value = line_[key].get<std::string>();
    return {};
  }

  // As a spec file reads it: JSON is YAML, and its messages name the key.
  Result<Draft> draft(const Draft& usual) {
    json spec = line_.value("spec", json::object());
    if (!spec.is_object()) return refuse("has a bad 'spec'", "write the keys of a spec file");
    if (line_.contains("command")) spec["command"] = line_["command"];
    if (!spec.contains("command")) spec["command"] = usual.command;
    spec["version"] = 1;
    const Result<Project> project = parse_project(spec.dump(), origin_.source, "/");
    if (!project) {
      Error error = project.error();
      error.origin = origin_;
      return error;
    }
    return overlay(usual, project->defaults);
  }

  Origin origin_;
  json line_;
};

}  // namespace

Result<std::vector<BatchTask>> parse_batch(std::string_view text, const std::string& file,
                                           const TaskRequest& usual) {
  std::vector<BatchTask> tasks;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json parsed = parse_bounded_json(line);
    if (parsed.is_discarded())
      return invalid("the line is no JSON", "write one JSON object on each line",
                     {file, static_cast<int>(number), 1});
    BatchTask task{.number = number, .request = {}};
    task.request = TRY(LineReader(file, number, std::move(parsed)).read(usual));
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return invalid("no task in the file", "write a line for each", {file, 1, 1});
  return tasks;
}

}  // namespace hermetic::task
