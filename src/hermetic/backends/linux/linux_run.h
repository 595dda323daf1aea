// One run on Linux, from launch to the last process gone.
#pragma once

#include <memory>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/result.h"
#include "hermetic/monitor/control_group.h"
#include "hermetic/run/backend.h"

namespace hermetic::linux_backend {

// What a backend knows that holds for all of its runs.
struct Surroundings {
  int init = -1;                          // the program that becomes pid 1
  const ControlGroups* groups = nullptr;  // where the kernel keeps limits; nullptr: nowhere
};

using Lowering = LoweredScript (*)(const Plan& plan, const Facts& facts);

// Fails with System or Unsupported, naming the step, if the sandbox could not be made. Whatever
// `lowering` writes is carried out, so that a test can hand in a wrong one and see it noticed.
[[nodiscard]] Result<std::unique_ptr<Run>> start_run(const Plan& plan, Facts facts,
                                                     const Surroundings& surroundings,
                                                     const RunOptions& options, EventSink& events,
                                                     Lowering lowering = lower);

}  // namespace hermetic::linux_backend
