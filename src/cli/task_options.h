// The options of 'hermetic task', and what its parts share.
#pragma once

#include "cli/options.h"
#include "hermetic/task/task.h"

namespace hermetic::cli {

// What --repo, --sha, --task-id and the others say.
[[nodiscard]] Result<task::TaskRequest> task_request(const Arguments& arguments);

// hermetic task selftest: two runs of one task must have the same hash and leave nothing.
[[nodiscard]] Result<int> task_selftest(const Arguments& arguments);

}  // namespace hermetic::cli
