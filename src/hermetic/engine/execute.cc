#include "hermetic/engine/execute.h"

#include <algorithm>
#include <utility>

#include "hermetic/spec/reach.h"

namespace hermetic {

Result<void> check_kept_place(const RunOptions& options, const Spec& spec) {
  if (!options.keep_failed) return {};
  TRY(options.keep_failed->check_for_folder());
  const Reach reach = TRY(Reach::of(spec));
  // What lies in the folder is removed for what is kept anew.
  return options.keep_failed->check_out_of_reach(reach, "keep_failed",
                                                 Reach::Extent::WithWhatLiesInIt);
}

Result<Finished> execute(const Spec& spec, Backend& backend, const RunOptions& options,
                         EventSink& events) {
  TRY(check_kept_place(options, spec));
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
