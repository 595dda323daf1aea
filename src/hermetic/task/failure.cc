#include "hermetic/task/failure.h"

#include <variant>

namespace hermetic::task {

std::string_view to_string(Failure failure) {
  switch (failure) {
    case Failure::None: return "none";
    case Failure::Command: return "command";
    case Failure::Timeout: return "timeout";
    case Failure::OutOfMemory: return "oom";
    case Failure::Limit: return "limit";
    case Failure::Violation: return "violation";
    case Failure::Signal: return "signal";
    case Failure::Infra: return "infra";
  }
  return "";
}

Failure failure_of(const Plan& plan, const Outcome& outcome) {
  if (std::holds_alternative<TimedOut>(outcome.ending)) return Failure::Timeout;
  if (const auto* over = std::get_if<OverLimit>(&outcome.ending))
    return over->which == "memory" ? Failure::OutOfMemory : Failure::Limit;
  if (std::holds_alternative<EndedByViolation>(outcome.ending)) return Failure::Violation;
  if (plan.on_violation != OnViolation::Report && !outcome.violations.empty())
    return Failure::Violation;
  if (std::holds_alternative<Signaled>(outcome.ending)) return Failure::Signal;
  return outcome.success() ? Failure::None : Failure::Command;
}

}  // namespace hermetic::task
