#include "hermetic/gate/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/base/work_at_once.h"
#include "hermetic/gate/exception_text.h"
#include "hermetic/gate/step_files.h"
#include "hermetic/record/events_file.h"
#include "hermetic/record/evidence.h"
#include "hermetic/record/last_lines.h"
#include "hermetic/record/markup.h"
#include "hermetic/record/report_words.h"
#include "hermetic/spec/caller_programs.h"
#include "hermetic/spec/reach.h"

namespace hermetic::gate {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

// Writes the events of a step down and remembers what its record needs.
class StepSink final : public EventSink {
 public:
  explicit StepSink(EventsFile events) : events_(std::move(events)) {}

  void on_event(const Event& event) override {
    events_.record(event);
    recorder_.on_event(event);
  }
  void on_sample(const Usage& usage) override { recorder_.on_sample(usage); }

  [[nodiscard]] Result<void> close() { return events_.close(); }
  [[nodiscard]] RunRecord finish(Plan plan, Outcome outcome, int exit_code) {
    return std::move(recorder_).finish(std::move(plan), std::move(outcome), exit_code);
  }

 private:
  EventsFile events_;
  RunRecorder recorder_;
};

struct Prepared {
  Spec spec;
  Plan plan;
  const Detector* detector = nullptr;
};

// Every host that the guard can let a step reach; the loopback stays the step's own.
NetworkPolicy open_network() {
  const auto rules = every_host(std::nullopt);
  return {.mode = NetworkPolicy::Mode::Hosts, .hosts = {rules.begin(), rules.end()}};
}

// The first detector that can give what the step needs; the reasons why the others cannot.
Result<Prepared> prepare(const Step& step, const Policy& policy, const GateOptions& options,
                         const StepEnvironment& environment) {
  const bool audit = policy.mode == Policy::Mode::Audit;
  const NetworkPolicy network = audit ? open_network() : network_of(step);
  const Spec spec = TRY(spec_of(step, network, environment, options.surroundings));
  std::optional<Error> refusal;
  for (const Detector& detector : options.detectors) {
    Spec tried = spec;
    // The guard knows which name an address was looked up by; it carries no more than it would in
    // earnest. Others only watch, and so does an audit that is not for learning.
    if (audit && !(options.learns && detector.assurance == Assurance::Enforced))
      tried.network = {.mode = NetworkPolicy::Mode::Host, .hosts = {}};
    // Whoever only watches gives no clause: that is said by its assurance.
    if (detector.assurance != Assurance::Enforced)
      for (const Clause clause : all_clauses())
        tried.give_up.insert(std::string(to_string(clause)));
    Result<Plan> plan = make_plan(tried, detector.backend->probe());
    if (plan) return Prepared{std::move(tried), std::move(*plan), &detector};
    if (!refusal) refusal = plan.error();
  }
  return refusal.value_or(unsupported("nothing can run a step here"));
}

Result<void> at_step(Result<void> checked, const Step& step) {
  if (checked) return checked;
  Error error = std::move(checked).error();
  if (error.origin.line == 0) error.origin = step.origin;
  return error;
}

// A step must not get at what signs the evidence about it, nor at where it is made.
Result<void> check_reach(const Step& step, const Prepared& prepared, const GateOptions& options,
                         const EvidenceFolder& folder) {
  if (options.is_signed && prepared.detector->assurance != Assurance::Enforced)
    return invalid("nothing keeps the step from the key that signs its own evidence",
                   "sign where steps can be confined, or leave the key out", step.origin);
  if (options.key_file) TRY(at_step(options.key_file->check_unseen(prepared.spec), step));
  const Found workshop = TRY(folder.workshop());
  const Reach reach = TRY(Reach::of(prepared.spec));
  TRY(at_step(folder.place().check_way(reach, "--out"), step));
  for (const auto& [name, place] : options.own_places)
    TRY(at_step(place.check_out_of_reach(reach, name, Reach::Extent::WithWhatLiesInIt), step));
  if (const auto way = reach.to_write(workshop, Reach::Extent::Itself))
    return invalid(fmt::format("the step could write where the evidence about it is made: '{}' in "
                               "the {}",
                               printable(way->name), way->through),
                   "give an --out that lies outside its outputs", step.origin);
  return {};
}

// What whoever ran the step has denied is there already, in its own words. It lets a step listen,
// since nobody outside can reach it, and calls a ring no breach, since some programs only try.
bool is_for_the_gate(const NetworkAct& act) {
  return is_listener(act) ? !act.denied : act.act == "io_uring_setup";
}

// What a list shows of a breach, and what would allow it, from the attempt that it is about.
void explain(Breach& breach, const Policy& policy, const std::vector<NetworkAct>& acts) {
  for (const NetworkAct& act : acts) {
    const std::string brief = fmt::format("{} {}", act.act, act.subject);
    const bool is_it =
        breach.brief.empty()
            ? breach.chain == act.chain && breach.message.find(act.subject) != std::string::npos
            : breach.brief == brief;
    if (!is_it) continue;
    breach.brief = brief;
    breach.remedy = exception_for(policy, act);
    return;
  }
}

void add_names(const std::vector<ProcessNode>& processes, std::vector<std::string>& names) {
  for (const ProcessNode& process : processes) {
    // By what it was called: the file that was executed may have another name behind a link. One
    // that was called by its path was not looked for.
    if (!process.arguments.empty() && process.arguments.front().find('/') == std::string::npos)
      names.push_back(process.arguments.front());
    add_names(process.children, names);
  }
}

// Programs that the step named or ran, and that are others for the caller.
std::vector<std::string> notes_about(const Spec& spec, const std::vector<ProcessNode>& processes,
                                     const Surroundings& surroundings, const Redaction& redaction) {
  std::vector<std::string> names = programs_named_in(spec.command);
  add_names(processes, names);
  std::vector<std::string> notes;
  for (const OtherProgram& program : other_programs(spec, surroundings.search(), names))
    notes.push_back(visible(redaction.clean(explanation_of(program))));
  std::ranges::sort(notes);
  return notes;
}

std::vector<Breach> all_breaches(const Step& step, const Policy& policy, const RunRecord& record,
                                 const Redaction& redaction) {
  std::vector<Breach> breaches = breaches_of(record, redaction);
  std::vector<NetworkAct> acts = network_acts(record, redaction);
  const std::vector<NetworkAct> all_acts = acts;
  const bool enforced =
      policy.mode == Policy::Mode::Enforce && record.assurance == Assurance::Enforced;
  if (enforced) std::erase_if(acts, [](const NetworkAct& act) { return !is_for_the_gate(act); });
  for (Breach& breach : breaches_under(step, acts)) breaches.push_back(std::move(breach));
  for (Breach& breach : breaches) explain(breach, policy, all_acts);
  // Such a call reaches nothing. But a program that makes it cannot do its work here, or tries to
  // get past whoever watches.
  for (const RefusedCall& call : record.outcome.refused_calls)
    if (call.call == "i386" || call.call == "x32" || call.call == "arm")
      breaches.push_back(
          {.rule_id = "refused-call",
           .message = fmt::format("an {} program was refused, or one that calls the system as such",
                                  call.call),
           .chain = {printable(redaction.clean(call.by))},
           .decided_by = "system-calls-filtered",
           .count = call.count});
  if (record.survivors != 0)
    breaches.push_back(
        {.rule_id = "residue",
         .message = fmt::format("it left processes running, such as {}",
                                printable(redaction.clean(record.survivor))),
         .chain = {printable(redaction.clean(record.survivor))},
         .decided_by = fmt::format("step {} ({})", step.id, to_string(step.origin)),
         .brief = fmt::format("left {} running", printable(redaction.clean(record.survivor)))});
  return breaches;
}

}  // namespace

Result<void> Gate::check_steps(const Policy& policy, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    if (policy.find(id) != nullptr) continue;
    std::vector<std::string_view> known;
    for (const Step& step : policy.steps) known.emplace_back(step.id);
    const std::string_view near = closest(id, known);
    return invalid(
        fmt::format("the policy {} has no step '{}'", printable(policy.file), printable(id)),
        near.empty() ? fmt::format("it has {}", fmt::join(known, ", "))
                     : fmt::format("did you mean '{}'?", near));
  }
  return {};
}

bool Gate::is_wanted(const Step& step) const {
  const std::vector<std::string>& ids = options_.steps;
  return ids.empty() || std::find(ids.begin(), ids.end(), step.id) != ids.end();
}

void Gate::tell(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  if (options_.on_progress) options_.on_progress(progress);
}

void Gate::stop() {
  stopped_ = true;
  const std::lock_guard lock(mutex_);
  for (Run* run : running_) run->kill();
}

Result<Gate::Finished> Gate::run_step(const Step& step, EvidenceFolder& folder) {
  Finished finished{
      .step = {.id = step.id, .description = step.description, .origin = step.origin}};
  ReportStep& report = finished.step;
  const auto fails = [&](const Error& error) {
    report.verdict = StepVerdict::Error;
    report.reason = printable(redaction_.clean(to_string(error)));
    return std::move(finished);
  };
  for (const GovernedException& exception : step.exceptions)
    if (has_expired(exception, options_.today))
      return fails(invalid(fmt::format("the exception of '{}' for {} has expired on {}",
                                       exception.owner, subject_of(exception), exception.expires),
                           "renew it with its owner, or take it out", exception.origin));

  const StepEnvironment environment = environment_of(step, options_.surroundings.environment);
  Result<Prepared> prepared = prepare(step, policy_, options_, environment);
  if (!prepared) return fails(prepared.error());
  if (Result<void> kept = check_reach(step, *prepared, options_, folder); !kept)
    return fails(kept.error());
  const std::string prefix = fmt::format("logs/{}/", step.id);
  const OwnPlace events_file = TRY(folder.place_of(prefix + "events.jsonl"));
  StepSink sink(TRY(EventsFile::make(events_file, redaction_)));
  finished.assurance = prepared->detector->assurance;
  if (policy_.mode == Policy::Mode::Audit) finished.assurance = Assurance::Observed;

  RunOptions run_options;
  run_options.standard_input = -1;
  run_options.capture_bytes = policy_.most_log_bytes;
  run_options.observe_processes = true;
  run_options.sample_every = kInterval;
  run_options.prove = finished.assurance == Assurance::Enforced;
  Result<std::unique_ptr<Run>> run =
      prepared->detector->backend->start(prepared->plan, run_options, sink);
  if (!run) {
    TRY(sink.close());
    return fails(run.error());
  }
  {
    const std::lock_guard lock(mutex_);
    running_.insert(run->get());
    if (stopped_) (*run)->kill();
  }
  Result<Outcome> outcome = (*run)->wait();
  {
    const std::lock_guard lock(mutex_);
    running_.erase(run->get());
  }
  TRY(sink.close());
  if (!outcome) return fails(outcome.error());

  const std::string ended = failure_of(outcome->ending);
  report.standard_output = redaction_.clean(outcome->standard_output.text);
  report.standard_error = redaction_.clean(outcome->standard_error.text);
  report.last_lines = last_lines_of(report.standard_output, report.standard_error, redaction_);
  report.run = sink.finish(prepared->plan, std::move(*outcome), ended.empty() ? 0 : 1);
  report.run->assurance = finished.assurance;
  if (!prepared->detector->blindness.empty())
    report.run->coverage.push_back(
        {.detector = prepared->detector->name, .on = true, .why = prepared->detector->blindness});
  report.breaches = all_breaches(step, policy_, *report.run, redaction_);
  report.notes =
      notes_about(prepared->spec, report.run->processes, options_.surroundings, redaction_);
  const bool audit = policy_.mode == Policy::Mode::Audit;
  if (report.run->lost_events != 0)
    report.reason = fmt::format("{} events were lost", report.run->lost_events);
  else if (!report.breaches.empty() && !audit)
    report.reason = ended.empty() ? brief_of(report.breaches)
                                  : fmt::format("{}; {}", brief_of(report.breaches), ended);
  else
    report.reason = ended;
  if (!report.reason.empty()) report.verdict = StepVerdict::Fail;
  report.run->exit_code = report.verdict == StepVerdict::Pass ? 0 : 1;
  TRY(write_step_files(
      folder, prefix,
      {.policy = policy_, .step = step, .spec = prepared->spec, .environment = environment}, report,
      redaction_));
  return finished;
}

Result<Gate::Finished> Gate::finish(const Step& step, EvidenceFolder& folder) {
  const auto before = std::chrono::steady_clock::now();
  tell({.state = Progress::State::Started, .id = step.id});
  Result<Finished> finished = run_step(step, folder);
  if (!finished) return finished;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - before);
  tell({.state = Progress::State::Ended,
        .id = step.id,
        .verdict = finished->step.verdict,
        .reason = finished->step.reason,
        .took = took});
  return finished;
}

// What a step's spec names may be made by a step before it: then it is asked when its turn comes.
Result<void> Gate::check_reach_of_all(const EvidenceFolder& folder) const {
  for (const Step& step : policy_.steps) {
    if (!is_wanted(step)) continue;
    const StepEnvironment environment = environment_of(step, options_.surroundings.environment);
    const Result<Prepared> prepared = prepare(step, policy_, options_, environment);
    if (prepared) TRY(check_reach(step, *prepared, options_, folder));
  }
  return {};
}

Result<Report> Gate::run(EvidenceFolder& folder) {
  TRY(check_reach_of_all(folder));
  std::vector<const Step*> wanted;
  for (const Step& step : policy_.steps)
    if (is_wanted(step)) wanted.push_back(&step);

  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Finished> done;
  std::set<std::string> taken;
  std::optional<Error> failure;
  // The next step whose needs are done; null if there is none at the moment.
  const auto next = [&]() -> const Step* {
    for (const Step* step : wanted) {
      if (taken.contains(step->id)) continue;
      const bool ready = std::ranges::all_of(step->needs, [&](const std::string& need) {
        return done.contains(need) || !is_wanted(*policy_.find(need));
      });
      if (ready) return step;
    }
    return nullptr;
  };
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (taken.size() < wanted.size() && !failure) {
      const Step* step = next();
      if (step == nullptr) {
        changed.wait(lock);
        continue;
      }
      taken.insert(step->id);
      std::string missing;
      for (const std::string& need : step->needs)
        if (done.contains(need) && done.at(need).step.verdict != StepVerdict::Pass) missing = need;
      if (stopped_ || !missing.empty()) {
        Finished skipped{.step = {.id = step->id,
                                  .description = step->description,
                                  .origin = step->origin,
                                  .verdict = StepVerdict::Skipped,
                                  .reason = stopped_ ? "the gate was stopped"
                                                     : fmt::format("it needs '{}', which did not "
                                                                   "pass",
                                                                   missing)}};
        lock.unlock();
        tell({.state = Progress::State::Ended,
              .id = step->id,
              .verdict = StepVerdict::Skipped,
              .reason = skipped.step.reason});
        lock.lock();
        done.emplace(step->id, std::move(skipped));
      } else {
        lock.unlock();
        Result<Finished> finished = finish(*step, folder);
        lock.lock();
        if (finished)
          done.emplace(step->id, std::move(*finished));
        else if (!failure)
          failure = finished.error();
      }
      changed.notify_all();
    }
  };
  work_at_once(std::clamp<std::size_t>(options_.jobs, 1, std::max<std::size_t>(wanted.size(), 1)),
               work);
  if (failure) return *failure;

  Report report{.title = "hermetic gate",
                .revision = options_.revision,
                .policy_file = policy_.file,
                .policy_digest = policy_.digest,
                .assurance = Assurance::Enforced,
                .steps = {}};
  for (const Step* step : wanted) {
    Finished& finished = done.at(step->id);
    report.assurance = std::max(report.assurance, finished.assurance);
    report.steps.push_back(std::move(finished.step));
  }
  return report;
}

}  // namespace hermetic::gate
