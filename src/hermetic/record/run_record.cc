#include "hermetic/record/run_record.h"

#include <algorithm>

#include "hermetic/run/event_size.h"

namespace hermetic {
namespace {

// Sorts by what a reader looks for first; equal for tries that differ in time and process number
// only.
std::string likeness(const Event& event) {
  std::string key;
  const auto add = [&](std::string_view part) {
    key += part;
    key += '\0';
  };
  add(event.verdict == Verdict::Deny ? "0" : "1");
  add(event.act);
  add(event.subject);
  add(event.rule);
  for (const ProcessFacts& process : event.processes) {
    add(process.executable);
    for (const std::string& argument : process.arguments) add(argument);
    add(process.directory);
  }
  return key;
}

}  // namespace

std::string_view to_string(Assurance assurance) {
  switch (assurance) {
    case Assurance::Enforced: return "enforced";
    case Assurance::Observed: return "observed";
    case Assurance::Degraded: return "degraded";
  }
  return "";
}

Assurance assurance_of(const Plan& plan) {
  Assurance assurance = Assurance::Enforced;
  for (const PlannedClause& planned : plan.clauses) {
    // What the spec asks for by itself is no loss: an output that is changed in place, say. What
    // only strengthens other clauses is none either.
    const bool asked_for = planned.clause == Clause::OutputsPrivate && planned.given_up;
    if (asked_for || planned.clause == Clause::SecondLine) continue;
    if (planned.strength == Strength::Absent) return Assurance::Degraded;
    if (planned.strength == Strength::Observed) assurance = Assurance::Observed;
  }
  return assurance;
}

void RunRecorder::on_event(const Event& event) {
  if (next_ != nullptr) next_->on_event(event);
  switch (event.kind) {
    case Event::Kind::Coverage:
      coverage_.push_back(
          {.detector = event.subject, .on = event.act == "on", .why = event.detail});
      break;
    case Event::Kind::Network: {
      processes_.add(event);
      // A file, as such, unless it leads out of the sandbox.
      if (event.endpoint && event.endpoint->family == "unix" && event.rule != kUnixSocketsRule)
        break;
      std::string key = likeness(event);
      if (const auto found = attempts_.find(key); found != attempts_.end()) {
        ++found->second.count;
        break;
      }
      const std::size_t size = memory_of(key) + memory_of(event);
      if (attempts_.size() >= kMostAttempts || attempt_bytes_ + size > kMostAttemptBytes) {
        ++lost_;
        break;
      }
      attempt_bytes_ += size;
      attempts_.emplace(std::move(key), Attempt{.event = event});
      break;
    }
    case Event::Kind::Process:
      processes_.add(event);
      if (event.act != "outlive") break;
      survivors_ = event.amount;
      survivor_ = event.subject;
      break;
    case Event::Kind::Lost: lost_ += event.amount; break;
    default: break;
  }
}

// A long run is told as coarsely as it must be: of all samples, every second is dropped when there
// are too many.
void RunRecorder::on_sample(const Usage& usage) {
  if (next_ != nullptr) next_->on_sample(usage);
  if (samples_seen_++ % sample_stride_ != 0) return;
  samples_.push_back(usage);
  if (samples_.size() < kMostSamples) return;
  for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = std::move(samples_[2 * i]);
  samples_.resize((samples_.size() + 1) / 2);
  sample_stride_ *= 2;
}

RunRecord RunRecorder::finish(Plan plan, Outcome outcome, int exit_code) && {
  lost_ += processes_.lost();
  const Assurance assurance = assurance_of(plan);
  RunRecord record{.plan = std::move(plan),
                   .outcome = std::move(outcome),
                   .exit_code = exit_code,
                   .assurance = assurance,
                   .network = {},
                   .coverage = std::move(coverage_),
                   .processes = std::move(processes_).finish(),
                   .survivors = survivors_,
                   .survivor = std::move(survivor_),
                   .samples = std::move(samples_),
                   .lost_events = lost_,
                   .started = started_};
  for (auto& [key, attempt] : attempts_) record.network.push_back(std::move(attempt));
  return record;
}

}  // namespace hermetic
