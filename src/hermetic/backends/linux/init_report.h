// What a report of init means: how the command ended, what it used, why there is no sandbox.
#pragma once

#include <sys/resource.h>

#include <optional>

#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

// A report as it came, with the descriptor that came with it.
struct ReceivedReport {
  InitReport report;
  UniqueFd passed;
  std::size_t size = 0;  // as it was sent; 0 if init was killed: it ends with a report otherwise
};
// Nothing if there is none yet. Fails if init cannot be heard.
[[nodiscard]] Result<std::optional<ReceivedReport>> receive_report(int socket);

// Each of a report that is_whole_report() accepted.
[[nodiscard]] Ending ending_of(const InitReport& report);
[[nodiscard]] Usage usage_of(const InitReport& report);  // without the wall time
// Of a run whose init was killed: by the kernel's word, with init's own time.
[[nodiscard]] Usage usage_of(const rusage& used);
[[nodiscard]] Error step_failed(const LoweredScript& script, const InitReport& report);

// What a file was to become larger than.
[[nodiscard]] inline OverLimit file_size_exceeded(std::uint64_t most) {
  return {"file_size", most + 1, most};
}

}  // namespace hermetic::linux_backend
