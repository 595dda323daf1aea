// What a policy would have said about steps that ran under another.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/gate/policy.h"
#include "hermetic/record/report.h"

namespace hermetic::gate {

struct SimulatedStep {
  std::string evidence;  // the folder
  std::string id;
  bool known = true;  // false: the policy has no such step
  std::vector<Breach> breaches;

  [[nodiscard]] bool fails() const { return !breaches.empty(); }
};

// Every step of a gate's evidence, sorted. Fails if the folder is none.
[[nodiscard]] Result<std::vector<SimulatedStep>> simulate(const Policy& policy,
                                                          const std::string& evidence,
                                                          const std::string& today);

// For tools: how many would fail, and each step with its breaches.
[[nodiscard]] std::string as_json(const Policy& policy, const std::vector<SimulatedStep>& steps);

}  // namespace hermetic::gate
