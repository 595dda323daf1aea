// What a report of init means: how the command ended, what it used, why there is no sandbox.
#pragma once

#include <sys/resource.h>

#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/error.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

// Each of a report that is_whole_report() accepted.
[[nodiscard]] Ending ending_of(const InitReport& report);
[[nodiscard]] Usage usage_of(const InitReport& report);  // without the wall time
// Of a run whose init was killed: by the kernel's word, with init's own time.
[[nodiscard]] Usage usage_of(const rusage& used);
[[nodiscard]] Error step_failed(const LoweredScript& script, const InitReport& report);

}  // namespace hermetic::linux_backend
