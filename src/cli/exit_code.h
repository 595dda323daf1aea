// The exit codes of hermetic. docs/reference/exit-codes.md has a line for each.
#pragma once

#include "hermetic/run/outcome.h"
#include "hermetic/spec/draft.h"

namespace hermetic::cli {

enum ExitCode : int {
  kSuccess = 0,
  kNo = 1,        // the answer to a question
  kBadUsage = 2,  // bad usage or a bad spec file
  kOverLimit = 122,
  kViolation = 123,  // and the command itself said 0
  kTimedOut = 124,
  kFailed = 125,  // hermetic itself failed, or the backend refused
  kCannotExecute = 126,
  kNotFound = 127,
  kSignalBase = 128,  // plus the number of the signal
};

// The exit code of "hermetic run" for a run that ended like this.
[[nodiscard]] int exit_code_of(const Outcome& outcome, OnViolation on_violation);

}  // namespace hermetic::cli
