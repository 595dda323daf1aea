// EventRelay: tells a callback in C what happens, as lines of the events file.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/c/hermetic.h"
#include "hermetic/record/event_json.h"
#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic::c {

class EventRelay final : public EventSink {
 public:
  EventRelay(hermetic_event_callback callback, void* user_data, Redaction redaction)
      : callback_(callback),
        user_data_(user_data),
        redaction_(std::move(redaction)),
        lines_(redaction_) {}
  EventRelay(const EventRelay&) = delete;  // its lines look at its redaction
  EventRelay& operator=(const EventRelay&) = delete;

  [[nodiscard]] bool is_listening() const override { return callback_ != nullptr; }
  void on_event(const Event& event) override;
  // What happened before anybody waited is told now, and what comes at once.
  void begin();

  [[nodiscard]] const Redaction& redaction() const { return redaction_; }

 private:
  void tell(const Event& event);

  hermetic_event_callback callback_;
  void* user_data_;
  Redaction redaction_;
  EventLines lines_;
  std::uint64_t next_ = 1;
  bool begun_ = false;
  std::vector<Event> early_;
};

}  // namespace hermetic::c
