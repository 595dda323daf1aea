#include "hermetic/engine/execute.h"

#include <utility>

namespace hermetic {

Result<Finished> execute(const Spec& spec, Backend& backend, const RunOptions& options,
                         EventSink& events) {
  Plan plan = TRY(make_plan(spec, backend.probe()));
  const std::unique_ptr<Run> run = TRY(backend.start(plan, options, events));
  Outcome outcome = TRY(run->wait());
  return Finished{std::move(plan), std::move(outcome)};
}

}  // namespace hermetic
