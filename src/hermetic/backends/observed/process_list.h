// Who is alive, as /proc tells.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hermetic/run/event.h"

namespace hermetic::observed {

struct ProcessStatus {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t started = 0;  // with `pid`, the same process and no other
  std::string name;
};

// All that are not dead yet.
[[nodiscard]] std::vector<ProcessStatus> live_processes();

// Those that this one traces.
[[nodiscard]] std::vector<ProcessStatus> traced_by(pid_t tracer);

// Its program and arguments; empty where they cannot be read.
[[nodiscard]] ProcessFacts facts_of(const ProcessStatus& process);

// The numbers of its sockets.
[[nodiscard]] std::vector<std::uint64_t> sockets_of(pid_t process);

}  // namespace hermetic::observed
