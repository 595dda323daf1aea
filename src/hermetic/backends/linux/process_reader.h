// ProcessReader: who made a call, and who started that one, up to the command.
//
// Read from /proc while the call waits for us, so that the process is still there. What was read is
// kept and looked at again with one read a process: a loop of calls would be slow otherwise.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

class ProcessReader {
 public:
  explicit ProcessReader(pid_t init) : init_(init) {}

  // The caller first. Empty if it is gone.
  [[nodiscard]] std::vector<ProcessFacts> chain(pid_t thread);
  // A copy of its descriptor; closed if there is none.
  [[nodiscard]] UniqueFd descriptor_of(pid_t thread, int number);

 private:
  struct Known {
    pid_t thread = 0;
    UniqueFd statistics;  // /proc/N/stat of this very process: it cannot become another's
    UniqueFd process;     // pidfd
    std::string mark;     // changes when it executes another program or gets another parent
    ProcessFacts facts;
  };

  Known* look_at(pid_t thread);

  pid_t init_;
  std::list<Known> known_;  // the latest first
};

}  // namespace hermetic::linux_backend
