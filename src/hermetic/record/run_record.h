// RunRecord: all that is known about one run when it is over, for manifests, reports and
// attestations.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/plan/plan.h"
#include "hermetic/record/process_tree.h"
#include "hermetic/run/event.h"
#include "hermetic/run/outcome.h"

namespace hermetic {

// What was tried in the network, once for all tries that look the same.
struct Attempt {
  Event event;  // the first of them
  std::uint64_t count = 1;

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// Which detector was on; `why` it was not.
struct Coverage {
  std::string detector;
  bool on = false;
  std::string why;

  friend bool operator==(const Coverage&, const Coverage&) = default;
};

// How far what was declared held, the weakest clause counts: only `Enforced` says that nothing
// else was possible.
enum class Assurance { Enforced, Observed, Degraded };
[[nodiscard]] std::string_view to_string(Assurance assurance);
[[nodiscard]] Assurance assurance_of(const Plan& plan);

struct RunRecord {
  Plan plan;
  Outcome outcome;
  int exit_code = 0;  // of hermetic itself, for this outcome
  Assurance assurance = Assurance::Enforced;
  // In an order that does not depend on time: two runs that try the same have the same.
  std::vector<Attempt> network;
  std::vector<Coverage> coverage;
  std::vector<ProcessNode> processes;
  std::uint64_t survivors = 0;  // processes that were there when the command had ended…
  std::string survivor;         // …and the name of one
  std::vector<Usage> samples;
  std::uint64_t lost_events = 0;
  std::chrono::system_clock::time_point started = {};
};

// Listens to a run and remembers what a record needs, within bounds.
class RunRecorder final : public EventSink {
 public:
  // `next` hears everything, too; may be null.
  explicit RunRecorder(EventSink* next = nullptr) : next_(next) {}

  void on_event(const Event& event) override;
  void on_sample(const Usage& usage) override;

  [[nodiscard]] RunRecord finish(Plan plan, Outcome outcome, int exit_code) &&;

 private:
  static constexpr std::size_t kMostAttempts = 10'000;
  static constexpr std::size_t kMostAttemptBytes = std::size_t{32} << 20U;
  static constexpr std::size_t kMostSamples = 2'000;

  EventSink* next_;
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  std::map<std::string, Attempt> attempts_;  // by what they look like
  std::size_t attempt_bytes_ = 0;
  std::vector<Coverage> coverage_;
  ProcessTree processes_;
  std::uint64_t survivors_ = 0;
  std::string survivor_;
  std::vector<Usage> samples_;
  std::size_t sample_stride_ = 1;  // every so many are kept
  std::size_t samples_seen_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace hermetic
