// What the evidence of a task says about it.
#pragma once

#include "cli/run_evidence.h"
#include "hermetic/task/task.h"

namespace hermetic::cli {

// With names that no other run of the task has, its evidence would never be the same twice. Of one
// that has run its command.
[[nodiscard]] Result<TaskEvidence> evidence_of(const task::Task& task);

}  // namespace hermetic::cli
