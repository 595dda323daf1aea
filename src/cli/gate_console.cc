#include "cli/gate_console.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/console.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/record/report_words.h"
#include "hermetic/spec/quantity.h"

namespace hermetic::cli {
namespace {

// GitHub's older commands are heard anywhere in a line, also in the arguments of a step's process.
std::string without_commands(std::string text) {
  constexpr std::string_view kCommand = "##[";
  for (std::size_t place = text.find(kCommand); place != std::string::npos;
       place = text.find(kCommand, place))
    text.replace(place, kCommand.size(), "## [");
  return text;
}

void say(const std::string& words) {
  const std::string harmless = without_commands(words);
  std::string_view text = harmless;
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string_view mark(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::Pass: return "✓";
    case StepVerdict::Fail: return "✗";
    case StepVerdict::Error: return "!";
    case StepVerdict::Skipped: return "–";
  }
  return "";
}

std::string_view color_of(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::Pass: return "\x1b[32m";
    case StepVerdict::Skipped: return "\x1b[33m";
    default: return "\x1b[31m";
  }
}

bool is_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "true";
}

// GitHub's commands are lines: what they carry is escaped as it wants it.
std::string escaped(std::string_view text, bool property) {
  std::string result;
  for (const char c : text) {
    if (c == '%')
      result += "%25";
    else if (c == '\r')
      result += "%0D";
    else if (c == '\n')
      result += "%0A";
    else if (property && c == ':')
      result += "%3A";
    else if (property && c == ',')
      result += "%2C";
    else
      result += c;
  }
  return result;
}

}  // namespace

GateConsole::GateConsole(bool quiet)
    : quiet_(quiet),
      color_(color_for("auto", STDERR_FILENO) == Color::Always),
      live_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void GateConsole::on_progress(const gate::Progress& progress) {
  constexpr std::string_view kClear = "\r\x1b[K";
  if (progress.state == gate::Progress::State::Started) {
    running_[progress.id] = std::chrono::steady_clock::now();
  } else {
    running_.erase(progress.id);
    if (!quiet_ || progress.verdict != StepVerdict::Pass) {
      const std::string sign =
          color_ ? fmt::format("{}{}\x1b[0m", color_of(progress.verdict), mark(progress.verdict))
                 : std::string(mark(progress.verdict));
      say(fmt::format("{}{} {:<24} {:<8} {:>8.2f} s{}{}\n", live_ ? kClear : "", sign, progress.id,
                      to_string(progress.verdict),
                      static_cast<double>(progress.took.count()) / 1000,
                      progress.reason.empty() ? "" : "  ", printable(progress.reason)));
    }
  }
  if (!live_) return;
  std::string names;
  for (const auto& [id, since] : running_) names += (names.empty() ? "" : ", ") + id;
  say(names.empty() ? std::string(kClear) : fmt::format("{}… {}", kClear, names));
}

Result<std::optional<OwnPlace>> place_of_summary() {
  const char* path = std::getenv(kSummaryVariable);
  if (path == nullptr || *path == '\0' || !is_on("GITHUB_ACTIONS"))
    return std::optional<OwnPlace>();
  OwnPlace place = TRY(OwnPlace::find(path));
  TRY(place.check_for_file());
  return std::optional(std::move(place));
}

void GateConsole::annotate(const Report& report, const std::optional<OwnPlace>& summary,
                           const Redaction& redaction) const {
  if (!is_on("GITHUB_ACTIONS")) return;
  // GitHub shows ten of a job: the worst come first.
  for (const std::size_t at : worst_first(report)) {
    const ReportStep& step = report.steps[at];
    const std::string place = fmt::format(
        "file={},line={},title={}", escaped(printable(step.origin.source), true),
        std::max(step.origin.line, 1), escaped(fmt::format("hermetic gate: {}", step.id), true));
    const bool passed = step.verdict == StepVerdict::Pass;
    std::string ending;
    if (!passed && !step.last_lines.empty())
      ending = fmt::format("\n\n{}", fmt::join(step.last_lines, "\n"));
    for (const Breach& breach : step.breaches) {
      const std::string who =
          breach.chain.empty() ? "" : fmt::format(", by {}", breach.chain.front());
      print(without_commands(fmt::format("::{} {}::{}\n", passed ? "warning" : "error", place,
                                         escaped(breach.message + who + ending, false))));
      ending.clear();
    }
    if (step.breaches.empty() && !passed)
      print(without_commands(
          fmt::format("::error {}::{}\n", place, escaped(step.reason + ending, false))));
  }
  if (!summary) return;
  if (const Result<void> written =
          append_to_own_file(*summary, report_as_summary(report, redaction));
      !written)
    complain(written.error());
}

// Each line of others begins with a bar: no CI system takes it for a command.
void GateConsole::tell(const ReportStep& step) const {
  constexpr std::size_t kMostBreaches = 20;
  const bool passed = step.verdict == StepVerdict::Pass;
  if (step.breaches.empty() && (passed || step.last_lines.empty())) return;
  const std::string sign =
      color_ ? fmt::format("{}{}\x1b[0m", color_of(step.verdict), mark(step.verdict))
             : std::string(mark(step.verdict));
  say(fmt::format("\n{} {}{}{}\n", sign, step.id, step.reason.empty() ? "" : ": ",
                  printable(step.reason)));
  const std::size_t shown = std::min(step.breaches.size(), kMostBreaches);
  for (std::size_t i = 0; i < shown; ++i) {
    const Breach& breach = step.breaches[i];
    say(fmt::format("  {}{}\n", breach.message,
                    breach.count == 1 ? "" : fmt::format(", {} times", breach.count)));
    if (!breach.chain.empty()) say(fmt::format("    by {}\n", breach.chain.front()));
    for (std::size_t k = 1; k < breach.chain.size(); ++k)
      say(fmt::format("    started by {}\n", breach.chain[k]));
    say(fmt::format("    decided by {}\n", breach.decided_by));
    if (!breach.remedy.empty()) say(fmt::format("    to allow it: {}\n", breach.remedy));
  }
  if (shown < step.breaches.size())
    say(fmt::format("  and {} more, which the report lists\n", step.breaches.size() - shown));
  if (passed || step.last_lines.empty()) return;
  say("  the last lines that it wrote:\n");
  for (const std::string& line : step.last_lines) say(fmt::format("  | {}\n", line));
}

void GateConsole::conclude(const Report& report, const std::string& folder,
                           const std::optional<OwnPlace>& summary,
                           const Redaction& redaction) const {
  std::size_t passed = 0;
  for (const std::size_t place : worst_first(report)) {
    const ReportStep& step = report.steps[place];
    passed += step.verdict == StepVerdict::Pass ? 1U : 0U;
    tell(step);
  }
  if (const auto notes = notes_of(report); !notes.empty() && !quiet_) {
    say("\nworth knowing:\n");
    for (const auto& [note, steps] : notes)
      say(fmt::format("  {} (in {})\n", printable(note), fmt::join(steps, ", ")));
  }
  if (report.comparison && !quiet_) {
    const ReportChanges& changes = *report.comparison;
    say(fmt::format("\ncompared with {}:\n",
                    printable(changes.revision.empty() ? changes.folder : changes.revision)));
    const std::vector<std::string> sentences = changes_in(changes);
    for (const std::string& sentence : sentences) say(fmt::format("  {}\n", printable(sentence)));
    if (sentences.empty()) say("  no step has changed\n");
  }
  if (!quiet_)
    say(fmt::format("\n{}: {} of {} steps passed, {}\nevidence: {}\n", to_string(report.verdict()),
                    passed, report.steps.size(), to_string(report.assurance), printable(folder)));
  annotate(report, summary, redaction);
}

}  // namespace hermetic::cli
