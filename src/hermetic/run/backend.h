// The seam between what is wanted (Plan) and how one operating system provides it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/places/own_place.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/event.h"
#include "hermetic/run/outcome.h"

namespace hermetic {

inline constexpr std::chrono::milliseconds kUsualSampling{100};

// What the command's standard descriptors are connected to, and what becomes of a failed run's
// outputs.
struct RunOptions {
  int standard_input = 0;  // a descriptor of the caller; -1 is an empty input
  int standard_output = 1;
  int standard_error = 2;
  // Keep what the command writes, up to so many bytes a stream, instead of passing it on.
  std::optional<std::size_t> capture_bytes = {};
  // A directory, made if missing, that gets the outputs of a run that did not succeed.
  std::optional<OwnPlace> keep_failed = {};
  // Have EventSink::on_sample() called this often; none: never.
  std::optional<std::chrono::milliseconds> sample_every = {};
  // Between the request to end (SIGTERM) and the end (SIGKILL) when the time is over.
  std::chrono::milliseconds grace{2000};
  // Hash what is published; costs a pass over every file.
  bool digest_outputs = true;
  // Record every file name that the command asks for, in Outcome::asked. Slows it down.
  bool observe_files = false;
  // Says why the command may not have what it asks for, or "" if it may (engine/denial.h): then
  // each denial is an event and in Outcome::denied. Called while the command waits, for each path
  // once or a few times. Slows it down.
  std::function<std::string(const AskedPath& asked)> why_denied = {};
  // Tell of every process that is made and every program that is executed.
  bool observe_processes = false;
  // Record the variables that programs ask the C library for, in Outcome::asked_variables. Only
  // without a sandbox, and only of programs that load shared objects.
  bool observe_variables = false;
  // Usage::by_process, of those that live long enough to be seen.
  bool watch_processes = false;
  // Try inside what must fail, before the command; run nothing if any of it succeeds.
  bool prove = false;
  // The command gets a terminal of its own, connected to the caller's.
  bool interactive = false;
};

// One started command. Destroying it kills whatever is still alive and waits for it.
class Run {
 public:
  virtual ~Run() = default;
  virtual Result<Outcome> wait() = 0;  // once; enforces the plan's limits, publishes the outputs
  // To the command; from any thread and from signal handlers. False if nobody is left to get it.
  virtual bool signal(int number) = 0;
  // What has been used so far; from any thread.
  [[nodiscard]] virtual Usage snapshot() = 0;
  virtual void kill() = 0;  // everything; from any thread; wait() then returns soon
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // The clauses this host really lets the backend give, found by trying, not by version.
  [[nodiscard]] virtual Capabilities probe() const = 0;

  // Fails before anything has run. There is no silent fallback to a weaker sandbox.
  virtual Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                             EventSink& events) = 0;
};

}  // namespace hermetic
