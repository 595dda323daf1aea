// One run on Linux, from launch to the last process gone.
#pragma once

#include <memory>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"

namespace hermetic::linux_backend {

// Fails with System or Unsupported, naming the step, if the sandbox could not be made.
[[nodiscard]] Result<std::unique_ptr<Run>> start_run(const Plan& plan, Facts facts, int init,
                                                     const RunOptions& options, EventSink& events);

}  // namespace hermetic::linux_backend
