// The outcome of a run for programs: docs/reference/outcome.schema.json is its contract.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/plan/plan.h"
#include "hermetic/record/redaction.h"
#include "hermetic/run/outcome.h"

namespace hermetic {

// `exit_code` is what the program ends with for this outcome. What violations say is redacted.
[[nodiscard]] std::string outcome_as_json(const Plan& plan, const Outcome& outcome, int exit_code,
                                          const Redaction& redaction);
// The secrets are those of the command's environment.
[[nodiscard]] std::string outcome_as_json(const Plan& plan, const Outcome& outcome, int exit_code);

}  // namespace hermetic
