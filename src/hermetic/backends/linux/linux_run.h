// One run on Linux, from launch to the last process gone.
#pragma once

#include <memory>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"

namespace hermetic::linux_backend {

using Lowering = LoweredScript (*)(const Plan& plan, const Facts& facts);

// Fails with System or Unsupported, naming the step, if the sandbox could not be made. Whatever
// `lowering` writes is carried out, so that a test can hand in a wrong one and see it noticed.
[[nodiscard]] Result<std::unique_ptr<Run>> start_run(const Plan& plan, Facts facts, int init,
                                                     const RunOptions& options, EventSink& events,
                                                     Lowering lowering = lower);

}  // namespace hermetic::linux_backend
