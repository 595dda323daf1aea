// Where events and samples of a run go: standard error, files, the system's log.
#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/own_places.h"
#include "cli/usage_report.h"
#include "hermetic/base/result.h"
#include "hermetic/plan/plan.h"
#include "hermetic/record/events_file.h"
#include "hermetic/record/redaction.h"
#include "hermetic/record/system_log.h"
#include "hermetic/run/backend.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/spec.h"

namespace hermetic::cli {

// Knows the secrets of the caller, who may have put them on the command line, and of the command.
[[nodiscard]] Redaction redaction_for(const Plan& plan);

// With --events, --syslog or --evidence the run is watched for all that they can hold; with
// --explain for what it denies. With --prove it is tried first.
void observe_what_is_asked(const Arguments& arguments, const Spec& spec, RunOptions& options);

class EventSinks final : public EventSink {
 public:
  // With HERMETIC_DEBUG set, says what happens as it happens. `redaction` outlives the sinks.
  explicit EventSinks(const Redaction& redaction);
  EventSinks(const EventSinks&) = delete;
  EventSinks& operator=(const EventSinks&) = delete;
  // Of a run that failed, too, nothing that happened is lost.
  ~EventSinks() override;

  // Opens what --samples, --events and --syslog ask for; before the command is started.
  [[nodiscard]] Result<void> open(const Arguments& arguments, const OwnPlaces& places);

  void on_event(const Event& event) override;
  [[nodiscard]] bool is_listening() const override { return events_ || system_log_ || speaks_; }
  void on_sample(const Usage& usage) override;

  // Fails if anything was lost. Complains about all that was but the one it returns.
  [[nodiscard]] Result<void> close();

 private:
  const Redaction& redaction_;
  bool speaks_;
  std::optional<SamplesFile> samples_;
  std::optional<EventsFile> events_;
  std::optional<SystemLog> system_log_;
};

}  // namespace hermetic::cli
