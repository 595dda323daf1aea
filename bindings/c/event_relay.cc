#include "bindings/c/event_relay.h"

#include <chrono>
#include <string>
#include <utility>

namespace hermetic::c {

void EventRelay::on_event(const Event& event) {
  if (callback_ == nullptr) return;
  if (begun_)
    tell(event);
  else
    early_.push_back(event);
}

void EventRelay::begin() {
  begun_ = true;
  for (const Event& event : std::exchange(early_, {})) tell(event);
}

void EventRelay::tell(const Event& event) {
  std::string line =
      lines_.line(event, {.sequence = next_++, .time = std::chrono::system_clock::now()});
  if (line.ends_with('\n')) line.pop_back();
  try {  // of a callback that is C++: the run must not end half way
    callback_(user_data_, line.c_str(), line.size());
  } catch (...) {
  }
}

}  // namespace hermetic::c
