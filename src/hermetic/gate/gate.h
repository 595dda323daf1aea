// The gate: runs the steps of a policy, each in a sandbox, and judges them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/gate/judge.h"
#include "hermetic/gate/policy.h"
#include "hermetic/gate/step_spec.h"
#include "hermetic/places/own_place.h"
#include "hermetic/record/evidence_folder.h"
#include "hermetic/record/key_file.h"
#include "hermetic/record/report.h"
#include "hermetic/run/backend.h"

namespace hermetic::gate {

// A way to run a step, and how far its word goes. Tried in the order given: the first that can give
// what the step needs is taken.
struct Detector {
  std::string name;  // "guard", "strace", "sockets"
  Backend* backend = nullptr;
  Assurance assurance = Assurance::Enforced;
  std::string blindness;  // what it cannot see; "" if it sees all
};

struct Progress {
  enum class State { Started, Ended };
  State state = State::Started;
  std::string id;
  StepVerdict verdict = StepVerdict::Pass;
  std::string reason;
  std::chrono::milliseconds took = {};
};

struct GateOptions {
  std::vector<std::string> steps;  // empty: all
  std::string revision;
  unsigned jobs = 1;
  std::string today;  // "2026-11-15", for what expires
  std::vector<Detector> detectors;
  Surroundings surroundings;
  // Deny nothing that the guard can carry, so that the names of all destinations are known.
  bool learns = false;
  bool is_signed = false;           // what is written down, with a key that no step may see
  std::optional<KeyFile> key_file;  // where that is, if it is a file
  std::map<std::string, OwnPlace> own_places;        // what else is written, by what asks for it
  std::function<void(const Progress&)> on_progress;  // from several threads, one at a time
};

class Gate {
 public:
  Gate(const Policy& policy, GateOptions options, const Redaction& redaction)
      : policy_(policy), options_(std::move(options)), redaction_(redaction) {}

  // Runs what was asked for and writes logs/STEP/… into the folder as it goes. The steps of the
  // report stand in the order of the policy. Fails if evidence cannot be written, or if a step
  // could get at it, or at the key: then nothing is run.
  [[nodiscard]] Result<Report> run(EvidenceFolder& folder);

  // From any thread: ends what runs, and starts nothing more.
  void stop();

  // Steps that were asked for and are none of the policy's.
  [[nodiscard]] static Result<void> check_steps(const Policy& policy,
                                                const std::vector<std::string>& ids);

 private:
  struct Finished {
    ReportStep step;
    Assurance assurance = Assurance::Enforced;
  };
  [[nodiscard]] bool is_wanted(const Step& step) const;
  [[nodiscard]] Result<void> check_reach_of_all(const EvidenceFolder& folder) const;
  [[nodiscard]] Result<Finished> finish(const Step& step, EvidenceFolder& folder);
  [[nodiscard]] Result<Finished> run_step(const Step& step, EvidenceFolder& folder);
  void tell(const Progress& progress);

  const Policy& policy_;
  GateOptions options_;
  const Redaction& redaction_;
  std::mutex mutex_;  // of all below
  std::set<Run*> running_;
  std::atomic<bool> stopped_ = false;
};

// Which files of a checkout differ from its commit, as git says, which is run in a sandbox for it.
// Nothing if it cannot be told.
[[nodiscard]] std::optional<std::vector<std::string>> modified_files(Backend& backend,
                                                                     const std::string& workspace);

// The stable part of a gate's evidence: report.json.
[[nodiscard]] std::string report_as_json(const Policy& policy, const Report& report,
                                         const std::optional<std::vector<std::string>>& modified);

// The volatile part, to which the list of files is added.
[[nodiscard]] nlohmann::json rest_of_gate(const Report& report, const std::string& stable,
                                          const std::string& started);

// GitLab's code quality report.
[[nodiscard]] std::string report_as_code_quality(const Report& report);

}  // namespace hermetic::gate
