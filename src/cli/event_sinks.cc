#include "cli/event_sinks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <vector>

#include "cli/console.h"
#include "hermetic/base/text.h"
#include "hermetic/engine/denial.h"

namespace hermetic::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

Redaction redaction_for(const Plan& plan) {
  std::vector<Redaction::Variable> environment(plan.environment.begin(), plan.environment.end());
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return Redaction(environment);
}

void observe_what_is_asked(const Arguments& arguments, const Spec& spec, RunOptions& options) {
  const bool recorded =
      arguments.has("--events") || arguments.has("--syslog") || arguments.has("--evidence");
  if (recorded || arguments.has("--explain")) options.why_denied = denials_of(spec);
  options.observe_processes = recorded;
  options.prove = arguments.has("--prove");
}

EventSinks::EventSinks(const Redaction& redaction)
    : redaction_(redaction), speaks_(is_set("HERMETIC_DEBUG")) {}

EventSinks::~EventSinks() {
  if (const Result<void> closed = close(); !closed) complain(closed.error());
}

Result<void> EventSinks::open(const Arguments& arguments, const OwnPlaces& places) {
  if (const OwnPlace* place = places.at("--samples")) samples_ = TRY(SamplesFile::make(*place));
  if (const OwnPlace* place = places.at("--events"))
    events_ = TRY(EventsFile::make(*place, redaction_));
  if (arguments.has("--syslog")) system_log_ = TRY(SystemLog::make(redaction_, {}));
  return {};
}

void EventSinks::on_sample(const Usage& usage) {
  if (samples_) samples_->write(usage);
}

void EventSinks::on_event(const Event& event) {
  if (events_) events_->record(event);
  if (system_log_) system_log_->record(event);
  if (!speaks_) return;
  const auto shown = [&](std::string_view text) { return printable(redaction_.clean(text)); };
  const double milliseconds = std::chrono::duration<double, std::milli>(event.since_start).count();
  // The loop that keeps the limits waits for no reader.
  wait_for_readers_until(RelayThread::Clock::now());
  speaks_ = complain(
      {.message = fmt::format("debug: {:9.3f} ms {} {} {} {}", milliseconds, to_string(event.kind),
                              shown(event.act), shown(event.subject), shown(event.detail))});
}

Result<void> EventSinks::close() {
  Result<void> result;
  const auto add = [&](const Result<void>& closed) {
    if (closed) return;
    if (!result) complain(result.error());
    result = closed;
  };
  if (samples_) add(samples_->close());
  if (system_log_) add(system_log_->close());
  if (events_) add(events_->close());
  samples_.reset();
  system_log_.reset();
  events_.reset();
  return result;
}

}  // namespace hermetic::cli
