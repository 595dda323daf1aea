// Tells events in an order that does not depend on who is faster: that the command runs comes
// before what it does. Init says so once the command is executed, and may be overtaken by it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

class EventOrder {
 public:
  EventOrder(EventSink& events, std::chrono::steady_clock::time_point started)
      : events_(events), started_(started) {}

  // Of hermetic or its guard. After Event::Kind::Started, all that was held back is told.
  void tell(Event event);
  // Of the command or, before it runs, of init, which tries to execute it.
  void tell_of_inside(Event event);
  // The command will never run, or nobody will say so.
  void release();

 private:
  [[nodiscard]] bool is_by_init(const Event& event);

  EventSink& events_;
  std::chrono::steady_clock::time_point started_;
  bool is_held_ = true;
  std::string init_;  // the executable that was heard of first
  std::vector<Event> early_;
  std::size_t early_bytes_ = 0;
};

}  // namespace hermetic::linux_backend
