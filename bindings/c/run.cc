// Runs: one started command behind a handle that several threads may use.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "bindings/c/event_relay.h"
#include "bindings/c/failure.h"
#include "bindings/c/options.h"
#include "bindings/c/spec.h"
#include "cli/backends.h"
#include "cli/exit_code.h"
#include "hermetic/engine/execute.h"
#include "hermetic/plan/plan.h"
#include "hermetic/record/outcome_json.h"
#include "hermetic/record/usage_json.h"
#include "hermetic/run/backend.h"
#include "hermetic/spec/environment.h"

namespace hermetic::c {

// Seen by hermetic_run, which C knows by name.
struct Ended {
  Outcome outcome;
  std::string json;
};

namespace {

Redaction redaction_for(const Plan& plan) {
  std::vector<Redaction::Variable> variables(plan.environment.begin(), plan.environment.end());
  for (const auto& variable : caller_environment()) variables.push_back(variable);
  return Redaction(variables);
}

}  // namespace
}  // namespace hermetic::c

using hermetic::Plan;
using hermetic::Result;
using hermetic::Run;
namespace c = hermetic::c;

struct hermetic_run {
  hermetic_run(Plan planned, hermetic_event_callback callback, void* user_data)
      : plan(std::move(planned)), events(callback, user_data, c::redaction_for(plan)) {}
  hermetic_run(const hermetic_run&) = delete;
  hermetic_run& operator=(const hermetic_run&) = delete;
  ~hermetic_run() { leave(); }

  // Whoever waits holds `waiting` all the time, `state` never for long.
  std::mutex waiting;
  std::mutex state;
  Plan plan;
  c::EventRelay events;
  std::shared_ptr<hermetic::task::CommandLog> log;      // of the task, if it is a command of one
  std::shared_ptr<hermetic::task::HostView> host_view;  // of the same, until it was brought out
  std::size_t number = 0;                               // which one
  std::chrono::steady_clock::time_point begin;
  pid_t owner = ::getpid();
  std::shared_ptr<Run> run;                // until it has ended; guarded by `state`
  std::optional<Result<c::Ended>> ending;  // guarded by `state`; set once
  std::thread::id waiter;                  // guarded by `state`
  int users = 0;                           // threads in hermetic_run_wait(); guarded by `state`
  std::condition_variable unused;          // of them, the last has left
  bool unwanted = false;                   // freed by its own callback; guarded by `state`

  // Nothing of it is there any more, whether or not somebody has found out how it ended.
  void leave() {
    run.reset();
    bring_out();
    if (log != nullptr) log->give_up(number);
  }
  // Before anybody is told that it is over: the next command may start then.
  void bring_out() {
    if (const auto view = std::exchange(host_view, nullptr)) view->bring_out();
  }
  [[nodiscard]] std::shared_ptr<Run> running() {
    const std::lock_guard lock(state);
    return run;
  }
  [[nodiscard]] bool is_waiter() {
    const std::lock_guard lock(state);
    return waiter == std::this_thread::get_id();
  }
  Result<char*> outcome_text() {
    const std::lock_guard lock(state);
    if (!*ending) return ending->error();
    return c::give_text((*ending)->json);
  }
};

namespace hermetic::c {
namespace {

// In a child that fork() made, the run is the parent's: killing it here would be wrong.
Result<void> check_owner(const hermetic_run& run) {
  if (run.owner != ::getpid())
    return invalid("the run was started by another process, of which this one is a child",
                   "use runs in the process that started them");
  return {};
}

Result<hermetic_run*> start(const hermetic_spec& wanted, const char* options_json,
                            hermetic_event_callback callback, void* user_data) {
  const StartOptions options = TRY(read_options(options_json));
  Spec spec = wanted.spec;
  if (options.timeout)
    spec.limits.wall_time =
        std::min(*options.timeout, spec.limits.wall_time.value_or(*options.timeout));
  TRY(check_kept_place(options.run, spec));
  const std::unique_ptr<Backend> backend = TRY(cli::backend_named(""));
  Plan plan = TRY(make_plan(spec, backend->probe()));
  auto run = std::make_unique<hermetic_run>(std::move(plan), callback, user_data);
  if (wanted.host_view != nullptr) TRY(wanted.host_view->bring_in());
  run->begin = std::chrono::steady_clock::now();
  run->run = TRY(backend->start(run->plan, options.run, run->events));
  run->log = wanted.log;
  run->host_view = wanted.host_view;
  if (run->log != nullptr)
    run->number = run->log->add(wanted.given, std::chrono::steady_clock::now() - run->begin);
  return run.release();
}

Result<Ended> drive(hermetic_run& handle, Run& run) {
  handle.events.begin();
  Outcome outcome = TRY(run.wait());
  handle.bring_out();
  const int exit_code = cli::exit_code_of(outcome, handle.plan.on_violation);
  if (handle.log != nullptr)
    handle.log->end(handle.number,
                    {.exit_code = exit_code,
                     .failure = task::failure_of(handle.plan, outcome),
                     .hermetic = was_hermetic(handle.plan, outcome)},
                    std::chrono::steady_clock::now() - handle.begin);
  std::string text = outcome_as_json(handle.plan, outcome, exit_code, handle.events.redaction());
  return Ended{std::move(outcome), std::move(text)};
}

// Whatever happens: an exception is an ending, too, or the next who waits would wait for nothing.
Result<Ended> drive_safely(hermetic_run& handle, Run& run) {
  try {
    return drive(handle, run);
  } catch (const std::exception& exception) {
    return system_error(std::string("the run was given up: ") + exception.what(), ENOMEM);
  }
}

// One thread in hermetic_run_wait(): whoever frees the run waits until all of them have left. Their
// callback may free it, too; then the last of them does.
class Use {
 public:
  Use(hermetic_run& run, bool& last_of_unwanted) : run_(run), last_of_unwanted_(last_of_unwanted) {
    const std::lock_guard lock(run_.state);
    ++run_.users;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    const std::lock_guard lock(run_.state);
    last_of_unwanted_ = --run_.users == 0 && run_.unwanted;
    run_.unused.notify_all();
  }

 private:
  hermetic_run& run_;
  bool& last_of_unwanted_;
};

Result<char*> wait_for(hermetic_run& handle) {
  TRY(check_owner(handle));
  if (handle.is_waiter()) return invalid("a callback of a run cannot wait for it");
  const std::lock_guard waiting(handle.waiting);
  const std::shared_ptr<Run> run = handle.running();
  if (run != nullptr) {
    {
      const std::lock_guard lock(handle.state);
      handle.waiter = std::this_thread::get_id();
    }
    Result<Ended> ended = drive_safely(handle, *run);
    const std::lock_guard lock(handle.state);
    handle.waiter = {};
    handle.ending = std::move(ended);
    handle.leave();
  }
  return handle.outcome_text();
}

}  // namespace
}  // namespace hermetic::c

extern "C" {

hermetic_run* hermetic_run_start(const hermetic_spec* spec, const char* options,
                                 hermetic_event_callback callback, void* user_data,
                                 hermetic_error** error) {
  return c::guarded<hermetic_run*>(error, nullptr, [&]() -> Result<hermetic_run*> {
    const hermetic_spec* wanted = TRY(c::needed(spec, "spec"));
    return c::start(*wanted, options, callback, user_data);
  });
}

char* hermetic_run_wait(hermetic_run* run, hermetic_error** error) {
  bool last_of_unwanted = false;
  char* text = c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    hermetic_run* handle = TRY(c::needed(run, "run"));
    const c::Use use(*handle, last_of_unwanted);
    return c::wait_for(*handle);
  });
  if (last_of_unwanted) delete run;
  return text;
}

const char* hermetic_run_output(const hermetic_run* run, int stream, size_t* size, int* truncated) {
  if (size != nullptr) *size = 0;
  if (truncated != nullptr) *truncated = 0;
  if (run == nullptr || (stream != 1 && stream != 2)) return nullptr;
  auto* handle = const_cast<hermetic_run*>(run);  // for the lock only
  const std::lock_guard lock(handle->state);
  if (!handle->ending || !*handle->ending) return nullptr;
  const hermetic::Outcome& outcome = (*handle->ending)->outcome;
  const hermetic::Captured& captured =
      stream == 1 ? outcome.standard_output : outcome.standard_error;
  if (size != nullptr) *size = captured.text.size();
  if (truncated != nullptr) *truncated = captured.truncated ? 1 : 0;
  return captured.text.c_str();
}

int hermetic_run_signal(hermetic_run* run, int number, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_run* handle = TRY(c::needed(run, "run"));
    TRY(c::check_owner(*handle));
    if (number < 1 || number > 64) return hermetic::invalid("there is no such signal");
    const std::shared_ptr<Run> running = handle->running();
    return running != nullptr && running->signal(number) ? 1 : 0;
  });
}

int hermetic_run_kill(hermetic_run* run, hermetic_error** error) {
  return c::guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_run* handle = TRY(c::needed(run, "run"));
    TRY(c::check_owner(*handle));
    if (const std::shared_ptr<Run> running = handle->running()) running->kill();
    return 0;
  });
}

char* hermetic_run_snapshot(hermetic_run* run, hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    hermetic_run* handle = TRY(c::needed(run, "run"));
    TRY(c::check_owner(*handle));
    hermetic::Usage usage;
    if (const std::shared_ptr<Run> running = handle->running()) {
      usage = running->snapshot();
    } else {
      const std::lock_guard lock(handle->state);
      if (!*handle->ending) return handle->ending->error();
      usage = (*handle->ending)->outcome.usage;
    }
    return c::give_text(hermetic::usage_as_json(usage).dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace));
  });
}

void hermetic_run_free(hermetic_run* run) {
  // Of another process: its memory is lost, its run is not touched.
  if (run == nullptr || run->owner != ::getpid()) return;
  if (const std::shared_ptr<Run> running = run->running()) running->kill();
  {
    std::unique_lock lock(run->state);
    if (run->waiter == std::this_thread::get_id()) {
      run->unwanted = true;
      return;
    }
    run->unused.wait(lock, [&] { return run->users == 0; });
  }
  delete run;
}
}
