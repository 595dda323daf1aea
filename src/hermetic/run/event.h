// Event: something that happened during a run. Events travel up to whoever asked for them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "hermetic/run/usage.h"

namespace hermetic {

// The command tried what the spec does not allow. The attempt failed; this says that it was made.
struct Violation {
  std::string act;      // "connect", "open", "limit"…
  std::string subject;  // the path, address or limit
  std::string detail;   // for people

  friend bool operator==(const Violation&, const Violation&) = default;
};

struct Event {
  enum class Kind {
    Started,    // the command runs
    Stopping,   // it was asked to end: by a limit, a violation or the caller
    Violation,  // see `violation`
    Ended,      // no process of the run is left
  };

  Kind kind = Kind::Started;
  std::chrono::nanoseconds since_start = {};
  std::string detail;
  std::optional<hermetic::Violation> violation = {};

  friend bool operator==(const Event&, const Event&) = default;
};

// Hears what happens while a command runs. Called from the thread that is in Run::wait().
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
  // As often as RunOptions::sample_every says.
  virtual void on_sample(const Usage& /*usage*/) {}
};

}  // namespace hermetic
