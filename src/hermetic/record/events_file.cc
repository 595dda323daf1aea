#include "hermetic/record/events_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "hermetic/base/text.h"

namespace hermetic {

Result<EventsFile> EventsFile::make(const OwnPlace& place, const Redaction& redaction) {
  return make(place, redaction, LineFile::Options{}.most_waiting);
}

Result<EventsFile> EventsFile::make(const OwnPlace& place, const Redaction& redaction,
                                    std::size_t most_waiting) {
  const LineFile::Options options{
      .mode = 0600, .patience = std::chrono::milliseconds(200), .most_waiting = most_waiting};
  LineFile file = TRY(LineFile::make(place, "the events", options));
  return EventsFile(place.path(), std::move(file), redaction);
}

bool EventsFile::append(const Event& event, std::uint64_t sequence) {
  const EventStamp stamp{.sequence = sequence, .time = std::chrono::system_clock::now()};
  return file_.append(lines_.line(event, stamp));
}

bool EventsFile::tell_lost() {
  if (untold_ == 0) return true;
  const Event lost{.kind = Event::Kind::Lost,
                   .since_start = now_,
                   .act = "record",
                   .detail = std::strerror(file_.os_error()),
                   .amount = untold_};
  if (!append(lost, first_lost_)) return false;
  std::erase_if(lost_lines_, [&](std::uint64_t line) { return line <= file_.written_lines(); });
  lost_lines_.push_back(file_.appended_lines());
  untold_ = 0;
  return true;
}

void EventsFile::record(const Event& event) {
  constexpr std::chrono::milliseconds kLongestWait{500};
  const std::uint64_t sequence = next_++;
  now_ = event.since_start;
  if (!tell_lost() || !append(event, sequence)) {
    if (untold_++ == 0) first_lost_ = sequence;
    ++lost_;
    return;
  }
  if (event.verdict != Verdict::Deny && event.since_start - last_flush_ < kLongestWait) return;
  file_.flush();
  last_flush_ = event.since_start;
}

Result<void> EventsFile::close() {
  file_.flush();
  (void)tell_lost();  // if not, the error does
  std::uint64_t lost = lost_ + file_.finish();
  // Lines that tell of lost ones are none of them.
  for (const std::uint64_t line : lost_lines_)
    if (line > file_.written_lines()) --lost;
  if (lost == 0) return {};
  return system_error(fmt::format("cannot write all events to '{}': {} of {} are lost",
                                  printable(path_), lost, next_ - EventStamp{}.sequence),
                      file_.os_error());
}

}  // namespace hermetic
