// What a failed command asked for and was not given, with the line that would allow it.
#pragma once

#include <string>

#include "hermetic/run/outcome.h"
#include "hermetic/spec/spec.h"

namespace hermetic::cli {

// Empty if everything that the command asked for, and that exists, was declared.
[[nodiscard]] std::string explain_denied(const Spec& spec, const Outcome& outcome);

}  // namespace hermetic::cli
