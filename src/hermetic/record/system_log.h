// SystemLog: events to the system's log, for hosts where somebody watches that.
//
// To systemd's journal with fields of their own where it listens, else to syslog as a line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/record/event_json.h"
#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic {

class SystemLog {
 public:
  struct Places {
    std::string journal = "/run/systemd/journal/socket";
    std::string syslog = "/dev/log";
    std::chrono::milliseconds patience{100};  // with a log that is full, once until it takes again
  };

  // Fails if nobody listens. `redaction` outlives the log.
  static Result<SystemLog> make(const Redaction& redaction, const Places& places);

  void record(const Event& event);

  // Fails if events were lost: says where to, why, and how many.
  [[nodiscard]] Result<void> close();

 private:
  SystemLog(const Redaction& redaction, Places places)
      : redaction_(&redaction), places_(std::move(places)) {}
  [[nodiscard]] bool connect();
  // Lets go of the socket if nobody listens there any more.
  [[nodiscard]] bool send(std::string_view message);
  [[nodiscard]] const std::string& place() const {
    return to_journal_ ? places_.journal : places_.syslog;
  }

  const Redaction* redaction_;
  Places places_;
  UniqueFd socket_;
  bool to_journal_ = false;
  bool patient_ = true;
  int os_error_ = 0;
  std::uint64_t next_ = EventStamp{}.sequence;
  std::uint64_t lost_ = 0;
};

// What is sent, for tests. Severities are those of RFC 5424: a denial is a warning.
[[nodiscard]] std::string syslog_message(const Event& event, const Redaction& redaction,
                                         std::chrono::system_clock::time_point time, int pid);
[[nodiscard]] std::string journal_message(const Event& event, const EventStamp& stamp,
                                          const Redaction& redaction);

}  // namespace hermetic
