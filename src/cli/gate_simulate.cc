// hermetic gate simulate: which past steps a policy would fail.
#include <fmt/format.h>

#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/gate_setup.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/simulate.h"

namespace hermetic::cli {
namespace {

using gate::SimulatedStep;

std::string_view verdict_of(const SimulatedStep& step) {
  if (!step.known) return "not in the policy";
  return step.fails() ? "fail" : "pass";
}

// What is read back was written by us, but whoever keeps it may have changed it.
std::string as_text(const SimulatedStep& step) {
  std::string text =
      fmt::format("{}: {}: {}\n", printable(step.evidence), printable(step.id), verdict_of(step));
  for (const Breach& breach : step.breaches) {
    text += fmt::format("  {}\n", printable(breach.message));
    if (!breach.chain.empty()) text += fmt::format("    by {}\n", printable(breach.chain.front()));
    text += fmt::format("    decided by {}\n", printable(breach.decided_by));
  }
  return text;
}

}  // namespace

Result<int> gate_simulate(const Arguments& arguments) {
  const gate::Policy policy = TRY(gate_policy(arguments));
  std::vector<SimulatedStep> steps;
  for (const Given& given : arguments.options) {
    if (given.name != "--evidence") continue;
    for (SimulatedStep& step : TRY(gate::simulate(policy, given.value, today())))
      steps.push_back(std::move(step));
  }
  if (!arguments.has("--evidence"))
    return invalid("'hermetic gate simulate' needs evidence",
                   "name what earlier gates have left: --evidence DIR");
  std::size_t fails = 0;
  for (const SimulatedStep& step : steps) fails += step.fails() ? 1U : 0U;
  if (arguments.has("--json")) {
    print(gate::as_json(policy, steps));
  } else {
    for (const SimulatedStep& step : steps)
      if (step.fails() || !step.known || !arguments.has("--quiet")) print(as_text(step));
    print(fmt::format("{} of {} past steps would fail\n", fails, steps.size()));
  }
  return fails == 0 ? kSuccess : kNo;
}

}  // namespace hermetic::cli
