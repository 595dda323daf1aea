#include "hermetic/record/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/record/markup.h"
#include "hermetic/record/report_words.h"
#include "hermetic/spec/quantity.h"

namespace hermetic {
namespace {

// A process can have a megabyte of arguments; who it was is clear long before.
constexpr std::size_t kLongestLine = 1'000;

bool is_one_of(std::string_view act, std::initializer_list<std::string_view> acts) {
  return std::find(acts.begin(), acts.end(), act) != acts.end();
}

std::string rule_of(std::string_view act) {
  if (act == "listen" || act == "bind") return "listener";
  if (act == "resolve") return "name-lookup";
  if (act == "socket" || act == "close") return "socket";
  if (is_one_of(act, {"connect", "reach", "send", "sendto", "sendmsg", "sendmmsg"}))
    return "network-denied";
  if (is_one_of(act, {"open", "read", "write", "execute"})) return "file-denied";
  return "violation";
}

std::string sentence(std::string_view act, std::string_view subject) {
  // Of the others, whoever is denied it has only tried.
  if (subject.starts_with('/') && (act == "listen" || act == "bind"))
    return fmt::format("it made the Unix socket {}, which processes outside can reach", subject);
  if (act == "listen" || act == "bind") return fmt::format("listening on {} was denied", subject);
  if (act == "resolve") return fmt::format("looking up {} was denied", subject);
  if (act == "socket") return fmt::format("a socket of the kind {} was denied", subject);
  if (act == "close") return fmt::format("{} were closed", subject);
  if (act == "more") return fmt::format("more {} were denied", subject);
  if (is_one_of(act, {"connect", "send", "sendto", "sendmsg", "sendmmsg"}))
    return subject.starts_with('/')
               ? fmt::format("{} to the Unix socket {}, whose other end is outside, was denied",
                             act, subject)
               : fmt::format("{} to {} was denied", act, subject);
  return fmt::format("{} {} was denied", act, subject);
}

// The call and what it was for, as a list shows it: sentences that count things stay as they are.
std::string brief(std::string_view act, std::string_view subject) {
  return act == "more" || act == "close" ? "" : fmt::format("{} {}", act, subject);
}

class BreachList {
 public:
  BreachList(const RunRecord& record, const Redaction& redaction)
      : record_(record), redaction_(redaction) {}

  [[nodiscard]] std::vector<Breach> finish() && {
    for (const Violation& violation : record_.outcome.violations) add(violation);
    const auto* ended = std::get_if<EndedByViolation>(&record_.outcome.ending);
    if (ended != nullptr && !is_listed(ended->violation)) add(ended->violation);
    if (const auto* over = std::get_if<OverLimit>(&record_.outcome.ending)) add(*over);
    if (const auto* timed_out = std::get_if<TimedOut>(&record_.outcome.ending)) add(*timed_out);
    return sorted();
  }

 private:
  [[nodiscard]] std::string text(std::string_view raw) const {
    return shortened(visible(redaction_.clean(raw)), kLongestLine);
  }

  [[nodiscard]] bool is_listed(const Violation& violation) const {
    const std::vector<Violation>& all = record_.outcome.violations;
    return std::any_of(all.begin(), all.end(), [&](const Violation& other) {
      return other.act == violation.act && other.subject == violation.subject;
    });
  }

  // What is a violation is the outcome's word: of attempts that were denied, some are no breach, as
  // when the C library looks which way a packet to "localhost" would take. The attempts know the
  // whole chain of processes.
  void add(const Violation& violation) {
    if (told_.contains({violation.act, violation.subject})) return;
    bool attributed = false;
    for (const Attempt& attempt : record_.network) {
      const Event& event = attempt.event;
      if (event.verdict != Verdict::Deny || event.act != violation.act ||
          event.subject != violation.subject || event.processes.empty())
        continue;
      attributed = true;
      breaches_.push_back({.rule_id = rule_of(event.act),
                           .message = sentence(text(event.act), text(event.subject)),
                           .chain = chain_of(event, redaction_),
                           .decided_by = text(event.rule),
                           .count = attempt.count,
                           .brief = brief(text(event.act), text(event.subject))});
    }
    if (attributed) {
      told_.emplace(violation.act, violation.subject);
      return;
    }
    std::vector<std::string> chain;
    if (!violation.detail.empty()) chain.push_back(text(violation.detail));
    Breach breach{.rule_id = rule_of(violation.act),
                  .message = sentence(text(violation.act), text(violation.subject)),
                  .chain = std::move(chain),
                  .decided_by = text(violation.rule),
                  .count = violation.count,
                  .brief = brief(text(violation.act), text(violation.subject))};
    breaches_.push_back(std::move(breach));
  }

  // How much was used when it was stopped depends on the host: it is told nowhere.
  void add(const OverLimit& over) {
    std::string limit = std::to_string(over.limit);
    if (is_one_of(over.which, {"memory", "file_size", "disk_write", "network_bytes"}))
      limit = format_size(over.limit);
    if (over.which == "cpu_time")
      limit = format_duration(
          std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(over.limit)));
    const std::string which = text(over.which);
    breaches_.push_back(
        {.rule_id = "limit",
         .message = fmt::format("{} went over its limit of {}", which, limit),
         .chain = {},
         .decided_by = fmt::format(
             "{}: {}: {}", over.which == "max_children" ? "process" : "limits", which, limit)});
  }

  void add(const TimedOut& timed_out) {
    const bool idle = timed_out.which == TimedOut::Which::IdleTime;
    const std::string limit = format_duration(timed_out.limit);
    breaches_.push_back(
        {.rule_id = "timeout",
         .message = idle ? fmt::format("it neither wrote nor computed for {}", limit)
                         : fmt::format("it did not end within {}", limit),
         .chain = {},
         .decided_by = fmt::format("limits: {}: {}", idle ? "idle_time" : "wall_time", limit)});
  }

  [[nodiscard]] std::vector<Breach> sorted() {
    const auto key = [](const Breach& breach) {
      return std::tie(breach.rule_id, breach.message, breach.decided_by, breach.chain);
    };
    std::stable_sort(breaches_.begin(), breaches_.end(),
                     [&](const Breach& a, const Breach& b) { return key(a) < key(b); });
    std::vector<Breach> distinct;
    for (Breach& breach : breaches_) {
      if (!distinct.empty() && key(distinct.back()) == key(breach))
        distinct.back().count += breach.count;
      else
        distinct.push_back(std::move(breach));
    }
    return distinct;
  }

  const RunRecord& record_;
  const Redaction& redaction_;
  std::set<std::pair<std::string, std::string>> told_;  // with all their attempts
  std::vector<Breach> breaches_;
};

}  // namespace

std::vector<std::string> chain_of(const Event& event, const Redaction& redaction) {
  std::vector<std::string> chain;
  for (const ProcessFacts& process : event.processes) {
    const std::string line = command_line(process.executable, process.arguments, redaction);
    chain.push_back(shortened(line, kLongestLine));
  }
  return chain;
}

std::string_view to_string(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::Pass: return "pass";
    case StepVerdict::Fail: return "fail";
    case StepVerdict::Error: return "error";
    case StepVerdict::Skipped: return "skipped";
  }
  return "";
}

StepVerdict Report::verdict() const {
  if (steps.empty()) return StepVerdict::Error;  // nothing was run: nothing is proved
  StepVerdict worst = StepVerdict::Pass;
  for (const ReportStep& step : steps) {
    if (step.verdict == StepVerdict::Error) return StepVerdict::Error;
    if (step.verdict != StepVerdict::Pass) worst = StepVerdict::Fail;
  }
  return worst;
}

std::vector<Breach> breaches_of(const RunRecord& record, const Redaction& redaction) {
  return BreachList(record, redaction).finish();
}

}  // namespace hermetic
