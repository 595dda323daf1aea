// What the command tried and may not, for people: each act, its process, the rule that denied it,
// and what would allow it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"
#include "hermetic/run/outcome.h"
#include "hermetic/spec/draft.h"

namespace hermetic::cli {

// "" if there was nothing. At most `most` of them, and how many more there were. Under `Report` the
// run goes on as if nothing was denied, so the text says how to make that an error.
[[nodiscard]] std::string violation_report(const std::vector<Violation>& violations,
                                           OnViolation policy, const Redaction& redaction,
                                           std::size_t most);

// "" if there was nothing. Programs of another machine's kind always, single calls with `all`.
[[nodiscard]] std::string refusal_report(const std::vector<RefusedCall>& calls, bool all,
                                         const Redaction& redaction);

}  // namespace hermetic::cli
