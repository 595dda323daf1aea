// From lines of JSON to the tasks of a batch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

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

// Of two values of one key, readers of JSON take one or the other.
std::optional<std::string> key_given_twice(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const json parsed = json::parse(
      text,
      [&](int /*depth*/, json::parse_event_t event, json& value) {
        if (event == json::parse_event_t::object_start) open.emplace_back();
        if (event == json::parse_event_t::object_end) open.pop_back();
        if (event == json::parse_event_t::key &&
            !open.back().insert(value.get<std::string>()).second)
          twice = value.get<std::string>();
        return true;
      },
      false);
  return parsed.is_discarded() ? std::nullopt : twice;
}

// What is said on a line was written there, and not in a file of its own.
void set_origin(Draft& draft, const Origin& origin) {
  for (Declaration& declaration : draft.declarations) declaration.origin = origin;
  for (auto& [key, place] : draft.origins) place = origin;
}

bool is_list_of_texts(const json& value) {
  return value.is_array() &&
         std::ranges::all_of(value, [](const json& word) { return word.is_string(); });
}

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
    const bool has_command = spec.contains("command");
    if (!has_command) spec["command"] = {"true"};  // a file needs one
    if (!is_list_of_texts(spec["command"]))
      return refuse("has a bad 'command'", "write a list of texts");
    if (!spec.contains("version")) spec["version"] = 1;
    // Escaped: what JSON may have as it is, YAML may not.
    Result<Project> project = parse_project(spec.dump(-1, ' ', true), origin_.source, "/");
    if (!project) {
      Error error = project.error();
      error.origin = origin_;
      return error;
    }
    if (!project->targets.empty())
      return refuse("has 'targets' in its 'spec'", "write a line for each");
    if (!has_command) project->defaults.command.clear();
    set_origin(project->defaults, origin_);
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
    if (const std::optional<std::string> key = key_given_twice(line); key)
      return invalid(fmt::format("the task has the key '{}' twice", printable(*key)),
                     "remove one of the two", {file, static_cast<int>(number), 1});
    BatchTask task{.number = number, .request = {}};
    task.request = TRY(LineReader(file, number, std::move(parsed)).read(usual));
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return invalid("no task in the file", "write a line for each", {file, 1, 1});
  return tasks;
}

}  // namespace hermetic::task
