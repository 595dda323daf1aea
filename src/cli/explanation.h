// What a command asked for and was not given, with the option and the line of a spec that would
// allow it.
#pragma once

#include <string>

#include "hermetic/record/redaction.h"
#include "hermetic/run/outcome.h"

namespace hermetic::cli {

// Empty if everything that the command asked for, and that exists, was declared.
[[nodiscard]] std::string explain_denied(const Outcome& outcome, const Redaction& redaction);

}  // namespace hermetic::cli
