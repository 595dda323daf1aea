// Why a task did not end well, told from what the kernel and the sandbox say, not from its words.
#pragma once

#include <string_view>

#include "hermetic/plan/plan.h"
#include "hermetic/run/outcome.h"

namespace hermetic::task {

enum class Failure {
  None,
  Command,  // it ended by itself, with another code than 0
  Timeout,  // wall or idle time
  OutOfMemory,
  Limit,      // any other limit
  Violation,  // it tried what is not allowed, and that was to be its end
  Signal,     // something ended it by a signal
  Infra,      // the sandbox, the checkout or the environment could not be made
};
[[nodiscard]] std::string_view to_string(Failure failure);  // "none", "command", "timeout"…
[[nodiscard]] Failure failure_of(const Plan& plan, const Outcome& outcome);

}  // namespace hermetic::task
