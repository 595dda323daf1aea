// RunEvidence: what `hermetic run --evidence` does beside the run.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "hermetic/base/output_relay.h"
#include "hermetic/places/own_place.h"
#include "hermetic/record/events_file.h"
#include "hermetic/record/evidence.h"
#include "hermetic/record/manifest.h"
#include "hermetic/record/run_record.h"
#include "hermetic/run/backend.h"

namespace hermetic::cli {

// The key of HERMETIC_SIGNING_KEY, or none.
[[nodiscard]] Result<std::optional<SigningKey>> key_from_environment();

// Of a run that is a command of a task: what there is to say with names that are the same in every
// run of it, and everywhere.
struct TaskEvidence {
  std::string spec;  // in its canonical form
  std::string spec_digest;
  nlohmann::json facts;  // of the stable part
  nlohmann::json rest;   // of the volatile part
};

class RunEvidence final : public EventSink {
 public:
  // Makes the folder and connects `options` to it. Signs with the key of --key or
  // HERMETIC_SIGNING_KEY, which is refused if the command could get at it. Both of `spec` and
  // `redaction` outlive it.
  static Result<std::unique_ptr<RunEvidence>> begin(const OwnPlace& place,
                                                    const Arguments& arguments, const Spec& spec,
                                                    const Redaction& redaction, RunOptions& options,
                                                    EventSink& next);

  void on_event(const Event& event) override;
  void on_sample(const Usage& usage) override { recorder_.on_sample(usage); }

  // Writes all of it and gives it its name.
  [[nodiscard]] Result<void> finish(Plan plan, const Outcome& outcome, int exit_code,
                                    const TaskEvidence* task = nullptr);

 private:
  RunEvidence(EvidenceFolder folder, std::optional<SigningKey> key, const Spec& spec,
              const Redaction& redaction, EventSink& next)
      : folder_(std::move(folder)),
        key_(std::move(key)),
        spec_(spec),
        redaction_(redaction),
        recorder_(&next) {}

  Result<void> finish_copies(const Plan& plan, const Outcome& outcome);

  EvidenceFolder folder_;
  std::optional<SigningKey> key_;
  const Spec& spec_;
  const Redaction& redaction_;
  RunRecorder recorder_;
  std::optional<EventsFile> events_;
  std::array<std::unique_ptr<OutputRelay>, 2> copies_;  // of output and error
  std::array<std::string, 2> kept_;
  RelayThread::Clock::time_point begun_ = RelayThread::Clock::now();
  Origin origin_;
};

}  // namespace hermetic::cli
