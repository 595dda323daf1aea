// Tasks: a worktree and an environment behind a handle.
#include <unistd.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "bindings/c/failure.h"
#include "bindings/c/spec.h"
#include "bindings/c/stoppable_backend.h"
#include "bindings/c/task_request.h"
#include "cli/backends.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/task/task_record.h"

namespace c = hermetic::c;
using hermetic::Result;
using nlohmann::json;

struct hermetic_task {
  hermetic_task(hermetic::task::TaskRequest wanted, hermetic::Cache opened,
                std::unique_ptr<hermetic::Backend> chosen)
      : request(std::move(wanted)), cache(std::move(opened)), backend(std::move(chosen)) {}

  hermetic::task::TaskRequest request;
  hermetic::Cache cache;
  c::StoppableBackend backend;  // of what is made before the first command
  pid_t owner = ::getpid();
  std::optional<hermetic::task::Task> task;  // once it is set up
  hermetic::task::TaskRecord record;
  hermetic::Outcome outcome;
  bool cleaned = false;
  bool kept = false;                           // the changes are elsewhere
  std::optional<hermetic::Error> unread = {};  // why nobody knows what was there when it went
};

namespace hermetic::c {
namespace {

// In a child that fork() made, the task is the parent's: removing it here would be wrong.
Result<hermetic_task*> owned(hermetic_task* task) {
  hermetic_task* handle = TRY(needed(task, "task"));
  if (handle->owner == ::getpid()) return handle;
  return invalid("the task was set up by another process, of which this one is a child",
                 "use tasks in the process that set them up");
}

Result<hermetic_task*> set_up_already(hermetic_task* task) {
  hermetic_task* handle = TRY(owned(task));
  if (handle->task) return handle;
  return invalid("the task is not set up", "hermetic_task_prepare() does that");
}

Result<hermetic_task*> still_there(hermetic_task* task) {
  hermetic_task* handle = TRY(set_up_already(task));
  if (!handle->cleaned) return handle;
  return invalid("the task was cleaned up", "set up another one");
}

Result<std::unique_ptr<hermetic_task>> make(const std::string& text) {
  TaskWanted wanted = TRY(read_task_request(text));
  TRY(check_task_name(wanted.request.id));
  Cache cache = TRY(Cache::open(wanted.cache));
  std::unique_ptr<Backend> backend = TRY(cli::backend_named(""));
  return std::make_unique<hermetic_task>(std::move(wanted.request), std::move(cache),
                                         std::move(backend));
}

Result<void> prepare(hermetic_task& handle) {
  if (handle.task) return invalid("the task is set up already");
  // Another process may be making the same for long.
  handle.cache.give_up_when([&handle] { return handle.backend.is_stopped(); });
  handle.task.emplace(TRY(task::Task::set_up(handle.request, handle.cache, handle.backend)));
  return {};
}

Error refuse_outcome(const std::string& what) {
  return invalid("the outcome of a command " + what,
                 "give what hermetic_run_wait() gave, see docs/reference/outcome.schema.json");
}

Result<task::Failure> failure_in(const json& outcome, const std::string& ending, int exit_code) {
  if (ending == "timed_out") return task::Failure::Timeout;
  if (ending == "violation") return task::Failure::Violation;
  if (ending == "signaled") return task::Failure::Signal;
  if (ending == "over_limit") {
    if (!outcome.contains("limit") || !outcome["limit"].is_object() ||
        !outcome["limit"].contains("which") || !outcome["limit"]["which"].is_string())
      return refuse_outcome("has no text 'which' in its 'limit'");
    return outcome["limit"]["which"] == "memory" ? task::Failure::OutOfMemory
                                                 : task::Failure::Limit;
  }
  if (ending == "exited" || ending == "not_started")
    return exit_code == 0 ? task::Failure::None : task::Failure::Command;
  return refuse_outcome("has an 'ending' that is none");
}

Result<task::CommandEnd> read_end(const std::string& text) {
  const json outcome = parse_bounded_json(text);
  if (!outcome.is_object()) return refuse_outcome("is no JSON object");
  const auto has = [&](const char* key, bool (json::*is)() const noexcept) {
    return outcome.contains(key) && (outcome[key].*is)();
  };
  if (!has("ending", &json::is_string)) return refuse_outcome("has no text 'ending'");
  if (!has("hermetic", &json::is_boolean)) return refuse_outcome("has no truth 'hermetic'");
  if (!has("exit_code", &json::is_number_integer) || outcome["exit_code"] < 0 ||
      outcome["exit_code"] > 255)
    return refuse_outcome("has no 'exit_code' from 0 to 255");
  const int exit_code = outcome["exit_code"].get<int>();
  const task::Failure failure =
      TRY(failure_in(outcome, outcome["ending"].get<std::string>(), exit_code));
  return task::CommandEnd{
      .exit_code = exit_code, .failure = failure, .hermetic = outcome["hermetic"].get<bool>()};
}

Result<hermetic_spec*> spec_of(hermetic_task& handle, std::vector<std::string> command,
                               const Draft& more) {
  handle.task->set_command(std::move(command), more);
  Spec spec = TRY(handle.task->spec());
  task::GivenCommand given = TRY(handle.task->given());
  return new hermetic_spec{.spec = std::move(spec),
                           .log = handle.task->shared_log(),
                           .given = std::move(given),
                           .host_view = handle.task->host_view()};
}

// The worktree is read as it is now; once it is gone, what was read last stands.
Result<void> read_record(hermetic_task& handle) {
  if (handle.unread) return *handle.unread;
  TRY(task::read_commands(*handle.task, handle.record));
  if (handle.record.commands.empty() && !handle.record.promised)
    if (const auto promised = handle.task->promises_to_be_hermetic(handle.backend.probe()))
      handle.record.promised = *promised;
  if (handle.cleaned || handle.kept) return {};
  handle.record.changes = TRY(handle.task->changes());
  handle.record.scratch = TRY(handle.task->scratch_listing());
  return {};
}

Result<void> clean_up(hermetic_task& handle) {
  if (handle.cleaned) return {};
  // What cannot be read goes, too; but no manifest says that it was not there.
  if (Result<void> read = read_record(handle); !read) handle.unread = std::move(read).error();
  handle.record.certificate = handle.task->clean_up();
  handle.cleaned = true;
  if (handle.record.certificate.left.empty())
    return handle.unread ? Result<void>(*handle.unread) : Result<void>();
  return system_error("something of the task is left: " + handle.record.certificate.left.front(), 0,
                      "hermetic gc tries again");
}

}  // namespace
}  // namespace hermetic::c

extern "C" {

hermetic_task* hermetic_task_new(const char* request, hermetic_error** error) {
  return c::guarded<hermetic_task*>(error, nullptr, [&]() -> Result<hermetic_task*> {
    const std::string text = TRY(c::needed_text(request, "request"));
    std::unique_ptr<hermetic_task> made = TRY(c::make(text));
    return made.release();
  });
}

int hermetic_task_prepare(hermetic_task* task, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::owned(task));
    TRY(c::prepare(*handle));
    return 0;
  });
}

int hermetic_task_stop(hermetic_task* task, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::owned(task));
    handle->backend.stop();
    return 0;
  });
}

hermetic_task* hermetic_task_set_up(const char* request, hermetic_error** error) {
  return c::guarded<hermetic_task*>(error, nullptr, [&]() -> Result<hermetic_task*> {
    const std::string text = TRY(c::needed_text(request, "request"));
    std::unique_ptr<hermetic_task> made = TRY(c::make(text));
    TRY(c::prepare(*made));
    return made.release();
  });
}

hermetic_spec* hermetic_task_spec(hermetic_task* task, const char* const* command,
                                  hermetic_error** error) {
  return c::guarded<hermetic_spec*>(error, nullptr, [&]() -> Result<hermetic_spec*> {
    hermetic_task* handle = TRY(c::still_there(task));
    std::vector<std::string> words;
    for (const char* const* word = command; word != nullptr && *word != nullptr; ++word)
      words.emplace_back(*word);
    return c::spec_of(*handle, std::move(words), {});
  });
}

hermetic_spec* hermetic_task_spec_of(hermetic_task* task, const hermetic_draft* draft,
                                     hermetic_error** error) {
  return c::guarded<hermetic_spec*>(error, nullptr, [&]() -> Result<hermetic_spec*> {
    hermetic_task* handle = TRY(c::still_there(task));
    const hermetic_draft* more = TRY(c::needed(draft, "draft"));
    if (more->caller)
      return hermetic::invalid("a command of a task has the environment of the task",
                               "set single variables with hermetic_draft_set_variable()");
    return c::spec_of(*handle, more->draft.command, more->draft);
  });
}

int hermetic_task_note(hermetic_task* task, const char* outcome, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::set_up_already(task));
    const std::string text = TRY(c::needed_text(outcome, "outcome"));
    const hermetic::task::CommandEnd end = TRY(c::read_end(text));
    if (!handle->task->shared_log()->amend(end))
      return hermetic::invalid("no command of the task has ended",
                               "run one, and wait for it, before its outcome is noted");
    return 0;
  });
}

char* hermetic_task_manifest(hermetic_task* task, hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    hermetic_task* handle = TRY(c::set_up_already(task));
    TRY(c::read_record(*handle));
    return c::give_text(
        hermetic::task::task_manifest(*handle->task, handle->record, handle->outcome));
  });
}

int hermetic_task_show_worktree(hermetic_task* task, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::still_there(task));
    TRY(handle->task->show_worktree());
    return 0;
  });
}

int hermetic_task_show_environment(hermetic_task* task, int network, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::still_there(task));
    TRY(handle->task->show_environment(network != 0 ? hermetic::task::CallersNetwork::Host
                                                    : hermetic::task::CallersNetwork::Closed));
    return 0;
  });
}

int hermetic_task_keep_changes(hermetic_task* task, const char* directory, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::still_there(task));
    const std::string path = TRY(c::needed_text(directory, "directory"));
    TRY(c::read_record(*handle));
    TRY(handle->task->check_done("keep"));
    // Where a command of the task could have put a link, it may have.
    const hermetic::OwnPlace place = TRY(hermetic::OwnPlace::find(path));
    const hermetic::Spec spec = TRY(handle->task->spec());
    const hermetic::Reach reach = TRY(hermetic::Reach::of(spec));
    TRY(place.check_out_of_reach(reach, "the place for changes"));
    TRY(handle->task->keep_changes(place));
    handle->kept = true;
    return 0;
  });
}

int hermetic_task_freeze(hermetic_task* task, const char* name, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::still_there(task));
    const std::string text = TRY(c::needed_text(name, "name"));
    TRY(c::read_record(*handle));
    TRY(handle->task->freeze(text, handle->cache));
    handle->cleaned = true;
    return 0;
  });
}

int hermetic_task_clean_up(hermetic_task* task, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_task* handle = TRY(c::set_up_already(task));
    TRY(c::clean_up(*handle));
    return 0;
  });
}

void hermetic_task_free(hermetic_task* task) {
  // Of another process: its memory is lost, its folder is not touched.
  if (task == nullptr || task->owner != ::getpid()) return;
  delete task;
}
}
