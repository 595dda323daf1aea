#include "hermetic/backends/linux/event_order.h"

#include <utility>

#include "hermetic/run/event_size.h"

namespace hermetic::linux_backend {

bool EventOrder::is_by_init(const Event& event) {
  if (event.kind != Event::Kind::Process || event.processes.empty()) return false;
  const std::string& executable = event.processes.front().executable;
  if (init_.empty()) init_ = executable;
  return executable == init_;
}

void EventOrder::tell_of_inside(Event event) {
  event.since_start = std::chrono::steady_clock::now() - started_;
  // A command that overtakes init by that much has no order.
  constexpr std::size_t kMost = 1000;
  constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
  early_bytes_ += memory_of(event);
  if (early_.size() >= kMost || early_bytes_ > kMostBytes) release();
  if (is_held_ && (!early_.empty() || !is_by_init(event)))
    early_.push_back(std::move(event));
  else
    events_.on_event(event);
}

void EventOrder::tell(Event event) {
  event.since_start = std::chrono::steady_clock::now() - started_;
  if (event.kind == Event::Kind::Started) {
    if (!early_.empty()) event.since_start = early_.front().since_start;  // it ran by then
    events_.on_event(event);
    release();
  } else if (is_held_ && !early_.empty()) {
    early_.push_back(std::move(event));
  } else {
    events_.on_event(event);
  }
}

void EventOrder::release() {
  is_held_ = false;
  for (const Event& event : std::exchange(early_, {})) events_.on_event(event);
}

}  // namespace hermetic::linux_backend
