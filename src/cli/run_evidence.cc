#include "cli/run_evidence.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "cli/spec_options.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/record/key_file.h"
#include "hermetic/record/last_lines.h"
#include "hermetic/record/report_words.h"
#include "hermetic/spec/reach.h"

namespace hermetic::cli {
namespace {

constexpr const char* kKeyVariable = "HERMETIC_SIGNING_KEY";
constexpr std::size_t kMostOutput = std::size_t{16} << 20U;

// Where the run was described: the line of the network's rule is what denials point at.
Origin origin_of(const Arguments& arguments, const Spec& spec) {
  if (spec.network_origin.line > 0) return spec.network_origin;
  const std::string file = arguments.last("--spec");
  if (file.empty() || file == "-") return {};
  return {.source = file, .line = 1, .column = 1};
}

std::string reason_for(const Outcome& outcome, int exit_code) {
  if (exit_code == 0) return "";
  return outcome.success() ? "the command succeeded, and tried what is not allowed"
                           : failure_of(outcome.ending);
}

// Refused if the command could get at it.
Result<std::optional<SigningKey>> signing_key(const Arguments& arguments, const Spec& spec,
                                              const RunOptions& options) {
  if (spec.has_env(kKeyVariable))
    return invalid(
        fmt::format("the command would get {}, the key that signs its own evidence", kKeyVariable),
        "take the variable out of environment.pass");
  if (!arguments.has("--key")) return key_from_environment();
  const KeyFile file = TRY(KeyFile::open(arguments.last("--key")));
  TRY(file.check_unseen(spec));
  const std::array<int, 3> handed_on = {options.standard_input, options.standard_output,
                                        options.standard_error};
  TRY(file.check_not_handed_on(handed_on));
  return std::optional(file.key());
}

std::string as_kept(const Captured& stream) {
  return stream.truncated ? stream.text + "\n[hermetic: more was not kept]\n" : stream.text;
}

}  // namespace

Result<std::optional<SigningKey>> key_from_environment() {
  const char* text = std::getenv(kKeyVariable);
  if (text == nullptr || *text == '\0') return std::optional<SigningKey>();
  return std::optional(TRY(SigningKey::from_pem(text, kKeyVariable)));
}

Result<std::unique_ptr<RunEvidence>> RunEvidence::begin(const OwnPlace& place,
                                                        const Arguments& arguments,
                                                        const Spec& spec,
                                                        const Redaction& redaction,
                                                        RunOptions& options, EventSink& next) {
  std::optional<SigningKey> key = TRY(signing_key(arguments, spec, options));
  const Reach reach = TRY(Reach::of(spec));
  const auto is_seen = [&](const Found& directory) -> Result<bool> {
    return reach.to_write(directory, Reach::Extent::Itself).has_value();
  };
  EvidenceFolder folder =
      TRY(EvidenceFolder::make(place, EvidenceFolder::IfThere::Refuse, is_seen));
  std::unique_ptr<RunEvidence> evidence(
      new RunEvidence(std::move(folder), std::move(key), spec, redaction, next));
  evidence->origin_ = origin_of(arguments, spec);
  const OwnPlace events_file = TRY(evidence->folder_.place_of("events.jsonl"));
  evidence->events_ = TRY(EventsFile::make(events_file, redaction));
  if (!options.capture_bytes) {  // which the outcome has, otherwise
    for (std::size_t i = 0; i < evidence->copies_.size(); ++i) {
      int& stream = i == 0 ? options.standard_output : options.standard_error;
      if (::fcntl(stream, F_GETFD) < 0) continue;  // closed
      evidence->copies_[i] =
          TRY(OutputRelay::make(stream, {.keep = kMostOutput, .largest_file = UINT64_MAX}));
      TRY(evidence->copies_[i]->start());
      stream = evidence->copies_[i]->writer();
    }
  }
  options.digest_outputs = true;
  if (!options.sample_every) options.sample_every = kUsualSampling;
  return evidence;
}

void RunEvidence::on_event(const Event& event) {
  events_->record(event);
  recorder_.on_event(event);
}

// A reader may take its time, but not more than the run has, and hardly any once it was ended.
Result<void> RunEvidence::finish_copies(const Plan& plan, const Outcome& outcome) {
  const bool ended = outcome.was_ended();
  std::optional<RelayThread::Clock::time_point> until;
  if (ended) until = RelayThread::Clock::now();
  if (const auto& limit = plan.limits.wall_time; limit && !ended) until = begun_ + *limit;
  for (const auto& copy : copies_)
    if (copy) copy->end();
  Result<void> failed;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (!copies_[i]) continue;
    const char* const name = i == 0 ? "output" : "error";
    OutputRelay::Carried carried = copies_[i]->finish(until);
    if (carried.os_error != 0)
      failed = system_error(fmt::format("cannot write standard {}", name), carried.os_error,
                            "what the command wrote is not whole");
    else if (!carried.whole && !ended)
      failed = system_error(fmt::format("standard {} was not read in time", name), ETIMEDOUT,
                            "what the command wrote last is lost");
    if (carried.dropped != 0)
      carried.kept += fmt::format("\n[hermetic: {} more bytes were not kept]\n", carried.dropped);
    kept_[i] = std::move(carried.kept);
  }
  return failed;
}

Result<void> RunEvidence::finish(Plan plan, const Outcome& outcome, int exit_code,
                                 const TaskEvidence* task) {
  if (task != nullptr) plan.spec_digest = task->spec_digest;
  const Result<void> copied = finish_copies(plan, outcome);
  TRY(events_->close());
  events_.reset();
  ReportStep step{
      .id = std::string(last_component(plan.command.front())),
      .description = "",
      .origin = origin_,
      .verdict = exit_code == 0 ? StepVerdict::Pass : StepVerdict::Fail,
      .reason = reason_for(outcome, exit_code),
      .breaches = {},
      .run = std::move(recorder_).finish(plan, outcome, exit_code),
      .manifest = {},
      .standard_output =
          redaction_.clean(copies_[0] ? std::move(kept_[0]) : as_kept(outcome.standard_output)),
      .standard_error =
          redaction_.clean(copies_[1] ? std::move(kept_[1]) : as_kept(outcome.standard_error))};
  step.breaches = breaches_of(*step.run, redaction_);
  step.last_lines = last_lines_of(step.standard_output, step.standard_error, redaction_);
  const std::vector<InputDigest> inputs =
      TRY(digest_inputs(spec_, executed_programs(step.run->processes)));
  ManifestFacts facts{.inputs = inputs,
                      .spec = task != nullptr ? task->spec : spec_.canonical(),
                      .policy_digest = "",
                      .task = task != nullptr ? task->facts : nlohmann::json()};
  step.manifest = make_manifest(*step.run, facts, redaction_);
  TRY(write_run_files(folder_, "", step, inputs, redaction_));
  nlohmann::json rest = step.manifest->rest;
  if (task != nullptr) rest["task"] = task->rest;
  Report report{.title = task != nullptr ? "hermetic task run" : "hermetic run",
                .revision = "",
                .policy_file = "",
                .policy_digest = "",
                .assurance = assurance_of(plan),
                .steps = {}};
  report.steps.push_back(std::move(step));
  TRY(write_conclusion(folder_, report, std::string(kManifestFile), std::move(rest),
                       key_ ? &*key_ : nullptr, redaction_));
  TRY(folder_.publish());
  return copied;
}

}  // namespace hermetic::cli
