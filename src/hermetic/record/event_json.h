// An event as one line of JSON: docs/reference/events.schema.json is its contract.
//
// Two runs of the same command write the same lines, but for what is under "volatile".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic {

// What an event does not know about itself.
struct EventStamp {
  std::uint64_t sequence = 1;  // of the first event
  std::chrono::system_clock::time_point time = {};
};

// With its newline. The first line carries the version.
[[nodiscard]] std::string event_line(const Event& event, const EventStamp& stamp,
                                     const Redaction& redaction);

// For people, without a newline: "denied connect to 192.0.2.1:443 by /usr/bin/curl".
[[nodiscard]] std::string event_sentence(const Event& event, const Redaction& redaction);

// RFC 3339, in UTC, to the microsecond.
[[nodiscard]] std::string timestamp(std::chrono::system_clock::time_point time);

}  // namespace hermetic
