// What a command asked for and was not given, with the option and the line of a spec that would
// allow it.
#pragma once

#include <string>

#include "hermetic/run/event.h"
#include "hermetic/run/outcome.h"
#include "hermetic/spec/spec.h"

namespace hermetic::cli {

// What the command asked for and is not declared, as events.
[[nodiscard]] std::vector<Event> denied_files(const Spec& spec, const Outcome& outcome);

// Empty if everything that the command asked for, and that exists, was declared.
[[nodiscard]] std::string explain_denied(const Spec& spec, const Outcome& outcome);

}  // namespace hermetic::cli
