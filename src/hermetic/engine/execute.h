// execute(): the order of one run, and nothing else.
#pragma once

#include <chrono>

#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// A finished run and the plan that it ran under.
struct Finished {
  Plan plan;
  Outcome outcome;

  [[nodiscard]] bool hermetic() const { return was_hermetic(plan, outcome); }
};

// Fails with InvalidSpec if the command of `spec` could write to RunOptions::keep_failed.
[[nodiscard]] Result<void> check_kept_place(const RunOptions& options, const Spec& spec);

// Fails with Unsupported before anything runs if the backend lacks a clause that the spec needs;
// with System if the sandbox could not be made. A command that fails is no error: see
// Finished::outcome. Safe to call from several threads at once.
[[nodiscard]] Result<Finished> execute(const Spec& spec, Backend& backend,
                                       const RunOptions& options, EventSink& events);

// The same, for no longer than `timeout`: Outcome::ending is then TimedOut. A shorter limit of the
// spec stays.
[[nodiscard]] Result<Finished> execute_with_timeout(const Spec& spec,
                                                    std::chrono::milliseconds timeout,
                                                    Backend& backend, const RunOptions& options,
                                                    EventSink& events);

}  // namespace hermetic
