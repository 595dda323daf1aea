// An event as one line of JSON: docs/reference/events.schema.json is its contract.
//
// Two runs of the same command write the same lines, but for what is under "volatile".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic {

// What an event does not know about itself.
struct EventStamp {
  std::uint64_t sequence = 1;  // of the first event
  std::chrono::system_clock::time_point time = {};
};

// Remembers what texts and processes have become, within bounds: a command that tries the same a
// thousand times is to be slowed down as little as possible.
class EventLines {
 public:
  // `redaction` outlives it.
  explicit EventLines(const Redaction& redaction) : redaction_(&redaction) {}

  // With its newline. The first line carries the version.
  [[nodiscard]] std::string line(const Event& event, const EventStamp& stamp);

 private:
  struct KnownProcess {
    ProcessFacts facts;
    std::string json;
  };

  // Without secrets, in quotes. Valid up to the next call.
  [[nodiscard]] const std::string& quoted(std::string_view raw);
  [[nodiscard]] std::string list(const std::vector<std::string>& arguments) const;
  [[nodiscard]] const std::string& process(const ProcessFacts& facts);
  void add_endpoint(std::string& line, const Endpoint& endpoint);
  void add_processes(std::string& line, const std::vector<ProcessFacts>& processes);

  const Redaction* redaction_;
  std::map<std::string, std::string, std::less<>> known_texts_;
  std::vector<KnownProcess> known_processes_;
  std::size_t oldest_process_ = 0;
  std::string unknown_;  // what was too large to be kept
};

// For people, without a newline: "denied connect to 192.0.2.1:443 by /usr/bin/curl".
[[nodiscard]] std::string event_sentence(const Event& event, const Redaction& redaction);

// RFC 3339, in UTC, to the microsecond.
[[nodiscard]] std::string timestamp(std::chrono::system_clock::time_point time);

}  // namespace hermetic
