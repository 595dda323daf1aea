// Capture: what the command writes to one of its streams, kept up to a limit.
#pragma once

#include <cstddef>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
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

}  // namespace hermetic::linux_backend
