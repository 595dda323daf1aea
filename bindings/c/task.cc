// Tasks: a worktree and an environment behind a handle.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "bindings/c/failure.h"
#include "bindings/c/spec.h"
#include "cli/backends.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/spec/loader.h"
#include "hermetic/task/task_record.h"

namespace c = hermetic::c;
using hermetic::Result;
using nlohmann::json;

struct hermetic_task {
  hermetic_task(hermetic::Cache opened, std::unique_ptr<hermetic::Backend> chosen)
      : cache(std::move(opened)), backend(std::move(chosen)) {}

  hermetic::Cache cache;
  std::unique_ptr<hermetic::Backend> backend;
  std::optional<hermetic::task::Task> task;
  hermetic::task::TaskRecord record;
  hermetic::Outcome outcome;
  bool cleaned = false;
  bool kept = false;  // the changes are elsewhere
};

namespace hermetic::c {
namespace {

Error refuse(const std::string& what) {
  return invalid("the request of a task " + what, "see docs/reference/c-api.md#tasks");
}

// Takes keys out of the request: what is left in the end is unknown.
class RequestReader {
 public:
  explicit RequestReader(json request) : request_(std::move(request)) {}

  Result<void> text(const char* key, std::string& value) {
    const json found = take(key);
    if (found.is_null()) return {};
    if (!found.is_string()) return refuse(std::string("has a '") + key + "' that is no text");
    value = found.get<std::string>();
    return {};
  }
  Result<void> texts(const char* key, std::vector<std::string>& values) {
    const json found = take(key);
    if (found.is_null()) return {};
    for (const json& item : found) {
      if (!item.is_string())
        return refuse(std::string("has a '") + key + "' that is no list of texts");
      values.push_back(item.get<std::string>());
    }
    return {};
  }
  Result<void> seed(std::optional<std::uint32_t>& value) {
    const json found = take("seed");
    if (found.is_null()) return {};
    if (!found.is_number_unsigned() || found.get<std::uint64_t>() > UINT32_MAX)
      return refuse("has a 'seed' that is no number from 0 to 4294967295");
    value = found.get<std::uint32_t>();
    return {};
  }
  // The keys of a spec file, but for the command.
  Result<void> spec(Draft& draft) {
    json found = take("spec");
    if (found.is_null()) return {};
    if (!found.is_object()) return refuse("has a 'spec' that is no object");
    found["version"] = 1;
    draft = TRY(parse_project(found.dump(), "spec", "/"))
    .defaults;
    return {};
  }
  Result<void> end() const {
    if (request_.empty()) return {};
    return refuse("has the unknown key '" + request_.begin().key() + "'");
  }

 private:
  json take(const char* key) {
    if (!request_.contains(key)) return {};
    json found = request_[key];
    request_.erase(key);
    return found;
  }

  json request_;
};

Result<task::TaskRequest> read_request(RequestReader reader, std::string& cache) {
  task::TaskRequest request;
  TRY(reader.text("task_id", request.id));
  TRY(reader.text("repo", request.repository));
  TRY(reader.text("sha", request.revision));
  TRY(reader.texts("sparse", request.sparse));
  TRY(reader.seed(request.seed));
  TRY(reader.text("config", request.config));
  TRY(reader.text("scratch", request.scratch));
  TRY(reader.text("from", request.from));
  TRY(reader.text("lockfile", request.python.lockfile));
  TRY(reader.text("python", request.python.interpreter));
  TRY(reader.texts("wheels", request.python.wheels));
  TRY(reader.text("node_lockfile", request.node.lockfile));
  TRY(reader.text("npm_cache", request.node.cache));
  TRY(reader.text("cache", cache));
  TRY(reader.spec(request.draft));
  TRY(reader.end());
  return request;
}

Result<hermetic_task*> set_up(const std::string& text) {
  json parsed = parse_bounded_json(text);
  if (!parsed.is_object()) return refuse("is no JSON object");
  std::string place;
  const task::TaskRequest request = TRY(read_request(RequestReader(std::move(parsed)), place));
  Cache cache = TRY(Cache::open(place));
  std::unique_ptr<Backend> backend = TRY(cli::backend_named(""));
  auto handle = std::make_unique<hermetic_task>(std::move(cache), std::move(backend));
  handle->task.emplace(TRY(task::Task::set_up(request, handle->cache, *handle->backend)));
  // Nothing has run: neither good nor bad.
  handle->record.hermetic = true;
  return handle.release();
}

task::Failure failure_in(const json& outcome) {
  const std::string ending = outcome.value("ending", "");
  if (ending == "timed_out") return task::Failure::Timeout;
  if (ending == "violation") return task::Failure::Violation;
  if (ending == "signaled") return task::Failure::Signal;
  if (ending == "over_limit")
    return outcome["limit"].value("which", "") == "memory" ? task::Failure::OutOfMemory
                                                           : task::Failure::Limit;
  return outcome.value("exit_code", 1) == 0 ? task::Failure::None : task::Failure::Command;
}

// The worktree is read as it is now; once it is gone, what was read last stands.
Result<void> read_changes(hermetic_task& handle) {
  if (handle.cleaned || handle.kept) return {};
  if (handle.task->has_command()) handle.record.stable_hash = TRY(handle.task->stable_hash());
  handle.record.changes = TRY(handle.task->changes());
  handle.record.scratch = TRY(handle.task->scratch_listing());
  return {};
}

Result<void> check_there(const hermetic_task& handle) {
  if (!handle.cleaned) return {};
  return invalid("the task was cleaned up", "set up another one");
}

Result<void> clean_up(hermetic_task& handle) {
  if (handle.cleaned) return {};
  TRY(read_changes(handle));
  handle.record.certificate = handle.task->clean_up();
  handle.cleaned = true;
  if (handle.record.certificate.left.empty()) return {};
  return system_error("something of the task is left: " + handle.record.certificate.left.front(), 0,
                      "hermetic gc tries again");
}

}  // namespace
}  // namespace hermetic::c

extern "C" {

hermetic_task* hermetic_task_set_up(const char* request, hermetic_error** error) {
  return c::guarded<hermetic_task*>(error, nullptr, [&]() -> Result<hermetic_task*> {
    const std::string text = TRY(c::needed_text(request, "request"));
    return c::set_up(text);
  });
}

hermetic_spec* hermetic_task_spec(hermetic_task* task, const char* const* command,
                                  hermetic_error** error) {
  return c::guarded<hermetic_spec*>(error, nullptr, [&]() -> Result<hermetic_spec*> {
    hermetic_task* handle = TRY(c::needed(task, "task"));
    TRY(c::check_there(*handle));
    std::vector<std::string> words;
    for (const char* const* word = command; word != nullptr && *word != nullptr; ++word)
      words.emplace_back(*word);
    handle->task->set_command(std::move(words));
    return new hermetic_spec { TRY(handle->task->spec()) };
  });
}

int hermetic_task_note(hermetic_task* task, const char* outcome, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::needed(task, "task"));
    const std::string text = TRY(c::needed_text(outcome, "outcome"));
    const json parsed = hermetic::parse_bounded_json(text);
    if (!parsed.is_object()) return c::refuse("was told of an outcome that is none");
    handle->record.exit_code = parsed.value("exit_code", 1);
    handle->record.hermetic = handle->record.hermetic && parsed.value("hermetic", false);
    handle->record.failure = c::failure_in(parsed);
    return 0;
  });
}

char* hermetic_task_manifest(hermetic_task* task, hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    hermetic_task* handle = TRY(c::needed(task, "task"));
    TRY(c::read_changes(*handle));
    return c::give_text(
        hermetic::task::task_manifest(*handle->task, handle->record, handle->outcome));
  });
}

int hermetic_task_keep_changes(hermetic_task* task, const char* directory, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::needed(task, "task"));
    TRY(c::check_there(*handle));
    const std::string path = TRY(c::needed_text(directory, "directory"));
    TRY(c::read_changes(*handle));
    TRY(handle->task->keep_changes(path));
    handle->kept = true;
    return 0;
  });
}

int hermetic_task_freeze(hermetic_task* task, const char* name, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::needed(task, "task"));
    TRY(c::check_there(*handle));
    const std::string text = TRY(c::needed_text(name, "name"));
    TRY(c::read_changes(*handle));
    TRY(handle->task->freeze(text, handle->cache));
    handle->cleaned = true;
    return 0;
  });
}

int hermetic_task_clean_up(hermetic_task* task, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::needed(task, "task"));
    TRY(c::clean_up(*handle));
    return 0;
  });
}

void hermetic_task_free(hermetic_task* task) { delete task; }
}
