#include "hermetic/record/report_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/record/markup.h"
#include "hermetic/spec/quantity.h"

namespace hermetic {
namespace {

using nlohmann::json;

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-[]";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

std::size_t steps_with(const Report& report, StepVerdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(report.steps.begin(), report.steps.end(),
                    [&](const ReportStep& step) { return step.verdict == verdict; }));
}

struct EndingWords {
  std::string operator()(const Exited& ending) const {
    return fmt::format("exited with {}", ending.code);
  }
  std::string operator()(const Signaled& ending) const {
    return fmt::format("ended by signal {}", ending.signal);
  }
  std::string operator()(const TimedOut& ending) const {
    const bool idle = ending.which == TimedOut::Which::IdleTime;
    return fmt::format("ended by the limit {} of {}", idle ? "idle_time" : "wall_time",
                       format_duration(ending.limit));
  }
  std::string operator()(const OverLimit& ending) const {
    return fmt::format("ended by the limit {}", ending.which);
  }
  std::string operator()(const EndedByViolation& /*ending*/) const {
    return "ended because of what it tried";
  }
  std::string operator()(const NotStarted& ending) const {
    return fmt::format("not started (error {})", ending.os_error);
  }
};

struct FailureWords {
  std::string operator()(const Exited& end) const {
    return end.code == 0 ? "" : fmt::format("the command ended with exit code {}", end.code);
  }
  std::string operator()(const Signaled& end) const {
    return fmt::format("the command was ended by signal {}", end.signal);
  }
  std::string operator()(const TimedOut& /*end*/) const { return "the command ran out of time"; }
  std::string operator()(const OverLimit& end) const {
    return fmt::format("the command went over its limit of {}", end.which);
  }
  std::string operator()(const EndedByViolation& /*end*/) const {
    return "the command was ended for trying what is not allowed";
  }
  std::string operator()(const NotStarted& /*end*/) const {
    return "the command could not be started";
  }
};

// Of a document that somebody else may have written.
std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}
std::uint64_t number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

}  // namespace

std::string command_line(std::string_view executable, std::span<const std::string> arguments,
                         const Redaction& redaction) {
  if (arguments.empty()) return quoted(visible(redaction.clean(executable)));
  std::string line;
  bool first = true;
  for (const std::string& argument : redaction.clean_arguments(arguments)) {
    // What a program calls itself says little: the file that was executed does.
    const bool is_name = first && !executable.empty();
    const std::string word = is_name ? visible(redaction.clean(executable)) : visible(argument);
    if (!first) line += ' ';
    line += quoted(word);
    first = false;
  }
  return line;
}

namespace {

// "python3.11" of "/usr/bin/python3.11 -m pytest"; "" of what is no command line, such as "a
// process that is gone".
std::string program_in(std::string_view line) {
  if (!line.starts_with('/') && !line.starts_with("'/")) return "";
  const bool quoted_word = line.starts_with('\'');
  const std::size_t end = quoted_word ? line.find('\'', 1) : line.find(' ');
  std::string_view word = line.substr(0, end);
  if (quoted_word) word.remove_prefix(1);
  return std::string(word.substr(word.rfind('/') + 1));
}

}  // namespace

std::string brief_of(const Breach& breach) {
  const std::string& what = breach.brief.empty() ? breach.message : breach.brief;
  const std::string program = breach.chain.empty() ? "" : program_in(breach.chain.front());
  return program.empty() ? what : fmt::format("{} by {}", what, program);
}

std::string brief_of(const std::vector<Breach>& breaches) {
  if (breaches.empty()) return "";
  const std::string first = brief_of(breaches.front());
  return breaches.size() == 1 ? first : fmt::format("{}, and {} more", first, breaches.size() - 1);
}

std::vector<std::size_t> worst_first(const Report& report) {
  const auto rank = [&](std::size_t place) {
    switch (report.steps[place].verdict) {
      case StepVerdict::Error: return 0;
      case StepVerdict::Fail: return 1;
      case StepVerdict::Skipped: return 2;
      // One that may do what is worth a look, as in an audit.
      case StepVerdict::Pass: return report.steps[place].breaches.empty() ? 4 : 3;
    }
    return 4;
  };
  std::vector<std::size_t> places(report.steps.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return places;
}

std::optional<std::chrono::microseconds> took(const ReportStep& step) {
  if (!step.run) return std::nullopt;
  return step.run->outcome.usage.wall_time;
}

std::vector<Destination> destinations_of(const Report& report, const Redaction& redaction) {
  // "reach" only says once more that a connection has come about.
  constexpr std::array<std::string_view, 6> kReaching = {"connect", "send",     "sendto",
                                                         "sendmsg", "sendmmsg", "resolve"};
  std::map<std::pair<bool, std::string>, Destination> found;
  for (const ReportStep& step : report.steps) {
    if (!step.run) continue;
    for (const Attempt& attempt : step.run->network) {
      const Event& event = attempt.event;
      const bool denied = event.verdict == Verdict::Deny;
      if (std::ranges::find(kReaching, event.act) == kReaching.end()) continue;
      // The sandbox's own loopback, and the resolver there: what that is asked for is listed.
      const bool own =
          event.endpoint && event.endpoint->name.empty() &&
          (event.endpoint->address.starts_with("127.") || event.endpoint->address == "::1");
      const bool internal =
          own && event.act != "resolve" && (!denied || event.endpoint->port == 53);
      if (internal) continue;
      std::string name = visible(redaction.clean(event.subject));
      if (event.act == "resolve") name += " (looked up)";
      Destination& destination = found[{!denied, name}];
      destination.name = name;
      destination.denied = denied;
      destination.count += attempt.count;
      destination.steps.insert(visible(step.id));
      if (!event.processes.empty())
        destination.programs.insert(std::string(
            last_component(visible(redaction.clean(event.processes.front().executable)))));
    }
  }
  std::vector<Destination> list;
  for (auto& [key, destination] : found) list.push_back(std::move(destination));
  return list;
}

std::map<std::string, std::set<std::string>> notes_of(const Report& report) {
  std::map<std::string, std::set<std::string>> notes;
  for (const ReportStep& step : report.steps)
    for (const std::string& note : step.notes) notes[visible(note)].insert(visible(step.id));
  return notes;
}

std::vector<std::string> changes_in(const ReportChanges& comparison) {
  std::vector<std::string> sentences;
  const auto say = [&](std::string_view one, std::string_view many, const auto& is_meant) {
    std::vector<std::string> ids;
    for (const StepChange& step : comparison.steps)
      if (is_meant(step)) ids.push_back(step.id);
    constexpr std::size_t kMost = 8;
    const std::size_t all = ids.size();
    if (all == 0) return;
    ids.resize(std::min(all, kMost));
    sentences.push_back(fmt::format("{} {}: {}{}", all, all == 1 ? one : many, fmt::join(ids, ", "),
                                    all > kMost ? fmt::format(" and {} more", all - kMost) : ""));
  };
  const auto passed = [](const std::string& verdict) { return verdict == "pass"; };
  say("step that passed does not pass now", "steps that passed do not pass now",
      [&](const StepChange& step) {
        return passed(step.before) && !step.now.empty() && !passed(step.now);
      });
  say("step passes now that did not", "steps pass now that did not", [&](const StepChange& step) {
    return !step.before.empty() && !passed(step.before) && passed(step.now);
  });
  say("step has breaches that are new", "steps have breaches that are new",
      [](const StepChange& step) { return !step.before.empty() && !step.appeared.empty(); });
  say("step has breaches no more", "steps have breaches no more",
      [](const StepChange& step) { return !step.now.empty() && !step.disappeared.empty(); });
  say("step is new", "steps are new", [](const StepChange& step) { return step.before.empty(); });
  say("step is not there any more", "steps are not there any more",
      [](const StepChange& step) { return step.now.empty(); });
  return sentences;
}

std::string_view sign_of(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::Pass: return "✓";
    case StepVerdict::Fail: return "✗";
    case StepVerdict::Error: return "!";
    case StepVerdict::Skipped: return "–";
  }
  return "";
}

std::string counted(std::uint64_t number, std::string_view one) {
  const std::string_view ending = one.ends_with("ch") || one.ends_with("s") ? "es" : "s";
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : ending);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return counted(bytes, "byte");
  std::size_t unit = 0;
  std::uint64_t tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024;
  for (; tenths >= 10'240 && unit + 1 < kUnits.size(); ++unit) tenths /= 1024;
  return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kUnits.at(unit));
}

std::string summary_of(const Report& report) {
  if (report.steps.empty()) return "no step was run";
  std::string text = fmt::format("{} of {} passed", steps_with(report, StepVerdict::Pass),
                                 counted(report.steps.size(), "step"));
  const auto add = [&](StepVerdict verdict, std::string_view one, std::string_view many) {
    const std::size_t number = steps_with(report, verdict);
    if (number != 0) text += fmt::format(", {} {}", number, number == 1 ? one : many);
  };
  add(StepVerdict::Fail, "failed", "failed");
  add(StepVerdict::Error, "had an error", "had errors");
  add(StepVerdict::Skipped, "was skipped", "were skipped");
  std::size_t breaches = 0;
  for (const ReportStep& step : report.steps) breaches += step.breaches.size();
  return text + "; " + (breaches == 0 ? "no breach" : counted(breaches, "breach"));
}

std::string_view meaning_of(Assurance assurance) {
  switch (assurance) {
    case Assurance::Enforced:
      return "Enforced: the kernel made everything impossible that was not declared.";
    case Assurance::Observed:
      return "Observed: some of what was not declared was possible, and would have been seen.";
    case Assurance::Degraded:
      return "Degraded: some of what was not declared was possible without being seen.";
  }
  return "";
}

std::string ending_of(const Ending& ending) { return std::visit(EndingWords{}, ending); }

std::string failure_of(const Ending& ending) { return std::visit(FailureWords{}, ending); }

std::string clause_count_of(const Plan& plan) {
  const auto enforced = std::count_if(
      plan.clauses.begin(), plan.clauses.end(),
      [](const PlannedClause& planned) { return planned.strength == Strength::Enforced; });
  return fmt::format("{} of {} enforced", enforced, counted(plan.clauses.size(), "clause"));
}

std::vector<std::string> coverage_sentences(const RunRecord& record, const Redaction& redaction) {
  std::vector<std::string> sentences;
  std::vector<Coverage> detectors = record.coverage;
  std::sort(detectors.begin(), detectors.end(), [](const Coverage& a, const Coverage& b) {
    return std::tie(b.on, a.detector, a.why) < std::tie(a.on, b.detector, b.why);
  });
  for (const Coverage& coverage : detectors) {
    const std::string name = visible(redaction.clean(coverage.detector));
    const std::string why = visible(redaction.clean(coverage.why));
    sentences.push_back(coverage.on && !why.empty() ? fmt::format("{}: watched; {}", name, why)
                        : coverage.on               ? fmt::format("{}: watched", name)
                        : why.empty()               ? fmt::format("{}: not watched", name)
                                      : fmt::format("{}: not watched, because {}", name, why));
  }
  if (detectors.empty()) sentences.emplace_back("nothing was watched");
  // How many depends on time; that the record has holes does not.
  sentences.emplace_back(record.lost_events == 0
                             ? "no event was lost"
                             : "events were lost: what is told here is not all that happened");
  return sentences;
}

std::vector<TreeFact> inputs_of(const ReportStep& step) {
  std::vector<TreeFact> facts;
  if (!step.manifest || !step.manifest->stable.is_object()) return facts;
  const auto found = step.manifest->stable.find("inputs");
  if (found == step.manifest->stable.end() || !found->is_array()) return facts;
  for (const json& input : *found) {
    if (!input.is_object()) continue;
    facts.push_back({.path = text_in(input, "path"),
                     .measure = text_in(input, "measure"),
                     .digest = text_in(input, "digest"),
                     .files = number_in(input, "files"),
                     .size_bytes = number_in(input, "size")});
  }
  return facts;
}

std::vector<TreeFact> outputs_of(const ReportStep& step) {
  std::vector<TreeFact> facts;
  if (!step.run) return facts;
  for (const PublishedOutput& output : step.run->outcome.outputs)
    facts.push_back({.path = output.path,
                     .measure = std::string(to_string(output.type)),
                     .digest = output.digest.empty() ? "" : "sha256:" + output.digest,
                     .files = output.files,
                     .size_bytes = output.size_bytes});
  std::sort(facts.begin(), facts.end(),
            [](const TreeFact& a, const TreeFact& b) { return a.path < b.path; });
  return facts;
}

TreesByUse without_empty(const std::vector<TreeFact>& facts) {
  TreesByUse result;
  std::vector<std::string> not_executed;
  std::vector<std::string> empty;
  for (const TreeFact& fact : facts) {
    if (fact.files != 0 || fact.measure == "file")
      result.used.push_back(fact);
    else
      (fact.measure == "programs" ? not_executed : empty).push_back(fact.path);
  }
  if (!not_executed.empty())
    result.empty.emplace_back("No program was executed of", std::move(not_executed));
  if (!empty.empty()) result.empty.emplace_back("Without files", std::move(empty));
  return result;
}

}  // namespace hermetic
