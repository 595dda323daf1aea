#include "hermetic/record/report_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

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

}  // namespace hermetic
