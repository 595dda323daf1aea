#include "hermetic/learn/learn.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "hermetic/base/current_directory.h"
#include "hermetic/base/path.h"
#include "hermetic/learn/lacking.h"
#include "hermetic/learn/rules.h"
#include "hermetic/learn/secrets.h"
#include "hermetic/learn/set_aside.h"
#include "hermetic/learn/spec_text.h"
#include "hermetic/plan/plan.h"
#include "hermetic/spec/clause.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

constexpr std::size_t kKeptOutput = std::size_t{64} * 1024;
constexpr int kMostAdditions = 2;

// Shells export functions under names that are none.
bool is_variable_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
             "XYZ0123456789_") == std::string::npos &&
         (name.front() < '0' || name.front() > '9');
}

// With the command that was observed: the file may have another, to which a run was added.
Result<Spec> spec_of(const std::string& text, const std::string& here,
                     const std::vector<std::string>& command) {
  const Project project = TRY(parse_project(text, "the learned spec", here));
  Draft draft = TRY(draft_of(project, std::nullopt));
  draft.command = command;
  return SpecBuilder(std::move(draft)).build();
}

Result<Outcome> run_under(const Spec& spec, Backend& backend, EventSink& events, const Wait& wait,
                          const std::string& what) {
  const Plan plan = TRY(make_plan(spec, backend.probe()));
  const RunOptions options{.standard_input = -1,
                           .capture_bytes = kKeptOutput,
                           .digest_outputs = false,
                           .observe_files = true};
  const std::unique_ptr<Run> run = TRY(backend.start(plan, options, events));
  return wait(*run, what);
}

class Learner {
 public:
  Learner(Observed observed, const Surroundings& surroundings, std::string here, Backend& proving,
          EventSink& events, const Wait& wait)
      : observed_(std::move(observed)),
        surroundings_(surroundings),
        here_(std::move(here)),
        proving_(proving),
        events_(events),
        wait_(wait) {}

  Result<Lesson> make() {
    Lesson lesson = TRY(attempt(Results::OneByOne, "proving"));
    for (int i = 0; i < kMostAdditions && !lesson.proof.proved; ++i) {
      const std::string why = what_is_lacking(lesson.proof);
      if (!add(lesson.proof)) break;
      lesson = TRY(attempt(Results::OneByOne, "proving again, " + why));
    }
    if (lesson.proof.proved) return lesson;
    // Some programs replace files by renaming, which no file that is declared by itself allows.
    const std::string other =
        spec_text(generalise(observed_.observation, surroundings_, Results::InPlace), here_);
    if (other == lesson.text) return lesson;
    const std::string changed = "proving again, with results changed in place";
    Lesson in_place = TRY(attempt(Results::InPlace, changed));
    if (!in_place.proof.proved && add(in_place.proof))
      in_place = TRY(attempt(Results::InPlace, changed));
    if (in_place.proof.proved) return in_place;
    lesson.runs = runs_;
    return lesson;
  }

 private:
  static std::string what_is_lacking(const Proof& proof) {
    if (proof.lacking.empty()) return "with what was lacking";
    const std::string first =
        fmt::format("as '{}' was lacking", printable(proof.lacking.front().path));
    const std::size_t others = proof.lacking.size() - 1;
    return others == 0 ? first : fmt::format("{} and {} more", first, others);
  }

  Result<Lesson> attempt(Results results, const std::string& what) {
    Lesson lesson;
    lesson.learned = generalise(observed_.observation, surroundings_, results);
    lesson.text = spec_text(lesson.learned, here_);
    const Result<Spec> spec = spec_of(lesson.text, here_, observed_.observation.command);
    if (!spec) {
      lesson.proof.refusal = to_string(spec.error());
    } else {
      // Or a build that changes its sources' directory would find everything done.
      const SetAside aside(observed_.observation, lesson.learned);
      Result<Outcome> outcome = run_under(*spec, proving_, events_, wait_, what);
      ++runs_;
      if (!outcome)
        lesson.proof.refusal = to_string(outcome.error());
      else
        judge(lesson.proof, *spec, std::move(*outcome));
    }
    lesson.runs = runs_;
    return lesson;
  }

  void judge(Proof& proof, const Spec& spec, Outcome outcome) const {
    for (const AskedPath& asked : lacking(spec, outcome.asked)) {
      if (is_no_loss(asked)) continue;
      // Without it the command may end the same: then it is no reason against the spec.
      if (is_secret_path(asked.path) && asked.operation != Operation::Write)
        proof.withheld.push_back(asked.path);
      else
        proof.lacking.push_back(asked);
    }
    proof.withheld.erase(std::unique(proof.withheld.begin(), proof.withheld.end()),
                         proof.withheld.end());
    proof.proved = outcome.ending == observed_.outcome.ending && proof.lacking.empty() &&
                   outcome.violations.empty();
    proof.outcome = std::move(outcome);
  }

  // What was not to be had without a sandbox, and what is left out knowingly where the spec says
  // so, is not lacking.
  [[nodiscard]] bool is_no_loss(const AskedPath& asked) const {
    if (is_in_temporary(asked.path, observed_.observation) && asked.operation == Operation::Write)
      return true;
    const SeenPath* seen = find_seen(observed_.observation, asked.path);
    const bool writes = asked.operation == Operation::Write;
    if (seen != nullptr && writes && !seen->written) return true;
    const bool broad = asked.opened && is_broad(asked.path, observed_.observation);
    // State of the user is made anew, and no result.
    const bool state =
        is_user_state(asked.path, observed_.observation) && (seen == nullptr || writes);
    return broad || state;
  }

  // Returns whether there was something to add.
  bool add(const Proof& proof) {
    const bool names = proof.outcome && add_names(proof.outcome->violations);
    return add_paths(proof.lacking) || names;
  }

  // A name that was found in a file when observed is asked for in the sandbox, which has not got
  // that file. It is meant only if somebody was reached.
  bool add_names(const std::vector<Violation>& violations) {
    bool added = false;
    for (const Violation& violation : violations)
      if (violation.act == "resolve" && !observed_.observation.reached.empty())
        added = observed_.observation.names.insert(violation.subject).second || added;
    return added;
  }

  bool add_paths(const std::vector<AskedPath>& asked) {
    std::vector<AskedPath> fresh;
    for (const AskedPath& one : asked)
      if (!is_secret_path(one.path)) fresh.push_back(one);
    bool added = false;
    std::vector<SeenPath>& paths = observed_.observation.paths;
    for (const SeenPath& seen : see(fresh)) {
      const auto place = std::lower_bound(
          paths.begin(), paths.end(), seen,
          [](const SeenPath& a, const SeenPath& b) { return compare_paths(a.path, b.path) < 0; });
      const bool known = place != paths.end() && place->path == seen.path;
      if (!known) {
        paths.insert(place, seen);
        added = true;
        continue;
      }
      SeenPath both = *place;
      both.read = both.read || seen.read;
      both.opened = both.opened || seen.opened;
      both.executed = both.executed || seen.executed;
      both.written = both.written || seen.written;
      added = added || both != *place;
      *place = both;
    }
    return added;
  }

  Observed observed_;
  const Surroundings& surroundings_;
  std::string here_;
  Backend& proving_;
  EventSink& events_;
  const Wait& wait_;
  int runs_ = 0;
};

}  // namespace

Result<Observed> observe(const std::vector<std::string>& command, const ObserveOptions& options,
                         Backend& observing, EventSink& events, const Wait& wait) {
  Observed observed;
  Observation& observation = observed.observation;
  observation.command = command;
  observation.earlier = options.earlier;
  observation.directory = TRY(current_directory());
  observation.environment = caller_environment();
  if (const auto home = observation.environment.find("HOME"); home != observation.environment.end())
    if (Result<std::string> normal = normal_path(home->second); normal)
      observation.home = std::move(*normal);

  SpecBuilder builder(command);
  builder.directory(observation.directory).input("/");  // nothing is hidden
  for (const auto& [name, value] : observation.environment)
    if (is_variable_name(name)) builder.pass_env(name);
  for (const Clause clause : all_clauses()) builder.give_up(std::string(to_string(clause)));
  const Spec spec = TRY(builder.lookup(look_up_by_name).build());
  const Plan plan = TRY(make_plan(spec, observing.probe()));
  AddressCollector addresses(events);
  const RunOptions run_options{.standard_input = -1,
                               .standard_output = options.standard_output,
                               .observe_files = true,
                               .observe_variables = options.variables};
  const std::unique_ptr<Run> run = TRY(observing.start(plan, run_options, addresses));
  observed.outcome = TRY(wait(*run, "observing"));
  observation.paths = see(observed.outcome.asked);
  observation.mentioned = mentioned_variables(observation.paths, observation.directory, command,
                                              observation.environment);
  observation.asked.insert(observed.outcome.asked_variables.begin(),
                           observed.outcome.asked_variables.end());
  observation.reached = std::move(addresses.reached);
  observation.listened = std::move(addresses.listened);
  observation.names = std::move(addresses.names);
  return observed;
}

Result<Lesson> learn(Observed observed, const Surroundings& surroundings, const std::string& here,
                     Backend& proving, EventSink& events, const Wait& wait) {
  return Learner(std::move(observed), surroundings, here, proving, events, wait).make();
}

}  // namespace hermetic
