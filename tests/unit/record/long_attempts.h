// Attempts with as many words as an event has room for.
#pragma once

#include <string>

#include "hermetic/run/event_size.h"

namespace hermetic {

inline Event attempt_by(int pid) {
  Event event{.kind = Event::Kind::Network, .act = "connect", .verdict = Verdict::Deny};
  event.subject = "192.0.2.1:" + std::to_string(pid);
  event.processes.push_back(
      {.pid = pid, .parent = 1, .executable = "/bin/x", .directory = "/", .is_cut = true});
  event.processes[0].arguments.assign(500, "word");
  return event;
}

}  // namespace hermetic
