#include "cli/exit_code.h"

#include <cerrno>

namespace hermetic::cli {
namespace {

struct CodeOf {
  int operator()(const Exited& ending) const { return ending.code; }
  int operator()(const Signaled& ending) const { return kSignalBase + ending.signal; }
  int operator()(const TimedOut&) const { return kTimedOut; }
  int operator()(const OverLimit&) const { return kOverLimit; }
  int operator()(const EndedByViolation&) const { return kViolation; }
  int operator()(const NotStarted& ending) const {
    return ending.os_error == ENOENT || ending.os_error == ENOTDIR ? kNotFound : kCannotExecute;
  }
};

}  // namespace

int exit_code_of(const Outcome& outcome, OnViolation on_violation) {
  const int code = std::visit(CodeOf{}, outcome.ending);
  const bool failed_by_violation = on_violation == OnViolation::Fail && !outcome.violations.empty();
  return code == kSuccess && failed_by_violation ? kViolation : code;
}

}  // namespace hermetic::cli
