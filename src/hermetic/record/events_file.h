// EventsFile: the audit trail, a line of JSON for each event.
//
// Events are numbered. If some cannot be written, a line of kind "lost" takes the number of the
// first of them and says how many there were, before anything newer is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/record/event_json.h"
#include "hermetic/record/line_file.h"
#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic {

class EventsFile {
 public:
  // `redaction` outlives the file. A new file is for its owner only: what is struck out of command
  // lines is a net, and others have no business with the rest.
  static Result<EventsFile> make(const OwnPlace& place, const Redaction& redaction);
  // For tests: a bound that is soon reached.
  static Result<EventsFile> make(const OwnPlace& place, const Redaction& redaction,
                                 std::size_t most_waiting);

  // Waits in memory until there is enough to write, half a second has passed, or it was a denial.
  void record(const Event& event);

  // Fails if events were lost: names the file, the cause, and how many.
  [[nodiscard]] Result<void> close();

 private:
  EventsFile(std::string path, LineFile file, const Redaction& redaction)
      : path_(std::move(path)), file_(std::move(file)), lines_(redaction) {}
  [[nodiscard]] bool append(const Event& event, std::uint64_t sequence);
  // False if lost events could still not be told.
  [[nodiscard]] bool tell_lost();

  std::string path_;
  LineFile file_;
  EventLines lines_;
  std::uint64_t next_ = EventStamp{}.sequence;
  std::chrono::nanoseconds last_flush_ = {};
  std::chrono::nanoseconds now_ = {};
  std::uint64_t first_lost_ = 0;
  std::uint64_t untold_ = 0;  // lost since the last line that said so
  std::uint64_t lost_ = 0;
  std::vector<std::uint64_t> lost_lines_;  // which lines that wait tell of lost ones
};

}  // namespace hermetic
