#include "hermetic/engine/execute.h"

#include <algorithm>
#include <utility>

namespace hermetic {

Result<Finished> execute(const Spec& spec, Backend& backend, const RunOptions& options,
                         EventSink& events) {
  Plan plan = TRY(make_plan(spec, backend.probe()));
  const std::unique_ptr<Run> run = TRY(backend.start(plan, options, events));
  Outcome outcome = TRY(run->wait());
  return Finished{std::move(plan), std::move(outcome)};
}

Result<Finished> execute_with_timeout(const Spec& spec, std::chrono::milliseconds timeout,
                                      Backend& backend, const RunOptions& options,
                                      EventSink& events) {
  Spec limited = spec;
  limited.limits.wall_time = std::min(timeout, spec.limits.wall_time.value_or(timeout));
  return execute(limited, backend, options, events);
}

}  // namespace hermetic
