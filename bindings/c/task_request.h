// The request of a task, as JSON.
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/task/task.h"

namespace hermetic::c {

struct TaskWanted {
  task::TaskRequest request;
  std::string cache;  // where; empty: at the usual place
};

// docs/reference/c-api.md#tasks has the keys. Unknown ones are refused.
[[nodiscard]] Result<TaskWanted> read_task_request(const std::string& text);

}  // namespace hermetic::c
