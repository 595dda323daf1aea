// Capture: what the command writes to one of its streams, kept up to a limit.
#pragma once

#include <array>
#include <cstddef>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/run/backend.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

struct Capture {
  UniqueFd pipe;
  Captured kept;

  // Makes the pipe. Returns the end to write to, numbered above the descriptors that the child
  // arranges.
  [[nodiscard]] Result<UniqueFd> open();
  // Reads what is there and closes the pipe at its end. Returns false if nothing was read.
  bool drain(std::size_t cap);
  // Everybody inside is gone: what is in the pipe is all. Somebody outside who was handed its other
  // end (SCM_RIGHTS) does not hold us up.
  void drain_rest(std::size_t cap);
};

// The caller's descriptors, or the ends to write to of what is captured.
[[nodiscard]] inline std::array<int, 3> streams_of(const RunOptions& options,
                                                   const std::array<UniqueFd, 2>& captured) {
  return {options.standard_input,
          captured[0].is_open() ? captured[0].get() : options.standard_output,
          captured[1].is_open() ? captured[1].get() : options.standard_error};
}

}  // namespace hermetic::linux_backend
