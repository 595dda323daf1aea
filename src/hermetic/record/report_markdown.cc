// The report as Markdown: a file that is read as it is, and, shorter, the summary of a CI job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "hermetic/record/markup.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_timeline.h"
#include "hermetic/record/report_words.h"

namespace hermetic {
namespace {

// A page that is too large is shown by no CI system and read by nobody; the page and SARIF have the
// rest.
struct Bounds {
  std::size_t breaches;
  std::size_t chain;  // processes of a breach
  std::size_t destinations;
  std::size_t steps;   // rows, and steps told of in full
  std::size_t phrase;  // characters
  std::size_t all;     // characters: what no bound above holds back
  bool evidence;
};
constexpr Bounds kReportBounds = {.breaches = 50,
                                  .chain = 1'000,
                                  .destinations = 500,
                                  .steps = 100'000,
                                  .phrase = 200,
                                  .all = std::size_t{64} << 20U,
                                  .evidence = true};
constexpr Bounds kSummaryBounds = {.breaches = 5,
                                   .chain = 3,
                                   .destinations = 30,
                                   .steps = 100,
                                   .phrase = 120,
                                   .all = 40'000,
                                   .evidence = false};
constexpr std::size_t kMostTrees = 100;

class MarkdownReport {
 public:
  MarkdownReport(const Report& report, const Redaction& redaction, const Bounds& bounds)
      : report_(report), redaction_(redaction), bounds_(bounds) {}

  [[nodiscard]] std::string finish() && {
    const std::vector<std::size_t> order = worst_first(report_);
    header();
    steps(order);
    comparison();
    std::size_t told = 0;
    std::size_t left_out = 0;
    for (const std::size_t place : order) {
      const ReportStep& step = report_.steps[place];
      if (!is_told(step)) continue;
      if (told++ < bounds_.steps && text_.size() < bounds_.all)
        details(step);
      else
        ++left_out;
    }
    if (left_out != 0) {
      line("And {} more, which the report tells about.", counted(left_out, "step"));
      gap();
    }
    notes();
    destinations();
    if (bounds_.evidence) evidence(order);
    return std::move(text_);
  }

 private:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void gap() { text_ += '\n'; }

  [[nodiscard]] std::string name(std::string_view text) const {
    return markdown_code(shortened(text, bounds_.phrase));
  }
  [[nodiscard]] std::string phrase(std::string_view text) const {
    return markdown_text(shortened(text, bounds_.phrase));
  }

  static bool is_calm(const ReportStep& step) {
    return step.verdict == StepVerdict::Pass && step.breaches.empty();
  }
  static bool is_told(const ReportStep& step) {
    return step.verdict == StepVerdict::Fail || step.verdict == StepVerdict::Error ||
           !step.breaches.empty();
  }

  void header() {
    const StepVerdict verdict = report_.verdict();
    line("# {} {}: {}", sign_of(verdict), markdown_text(report_.title), to_string(verdict));
    gap();
    line("**{}.** {}", summary_of(report_), meaning_of(report_.assurance));
    gap();
    const std::size_t before = text_.size();
    if (!report_.revision.empty()) line("- revision: {}", name(report_.revision));
    if (!report_.policy_file.empty()) line("- policy: {}", name(report_.policy_file));
    if (!report_.policy_digest.empty())
      line("- policy digest: {}", name("sha256:" + report_.policy_digest));
    for (const ReportLink& link : report_.links)
      if (is_web_address(link.address))
        line("- {}: [{}]({})", markdown_text(link.name), markdown_text(link.address),
             markdown_address(link.address));
    if (text_.size() != before) gap();
  }

  void steps(const std::vector<std::size_t>& order) {
    std::vector<std::size_t> calm;
    std::vector<std::size_t> others;
    for (const std::size_t place : order)
      (is_calm(report_.steps[place]) ? calm : others).push_back(place);
    constexpr std::size_t kMostCalm = 12;
    if (others.empty() || calm.size() <= kMostCalm) return rows(order);
    rows(others);
    line("<details><summary>{} passed</summary>", counted(calm.size(), "step"));
    gap();
    rows(calm);
    line("</details>");
    gap();
  }

  void rows(const std::vector<std::size_t>& places) {
    line("| Step | Verdict | Time | Why |");
    line("| --- | --- | --- | --- |");
    const std::size_t shown = std::min(places.size(), bounds_.steps);
    for (std::size_t i = 0; i < shown; ++i) {
      const ReportStep& step = report_.steps[places[i]];
      const auto time = took(step);
      line("| {} | {} {} | {} | {} |", name(step.id), sign_of(step.verdict),
           to_string(step.verdict), time ? duration_text(*time) : "–",
           phrase(step.reason.empty() ? brief_of(step.breaches) : step.reason));
    }
    if (shown < places.size()) line("| and {} more | | | |", places.size() - shown);
    gap();
  }

  void comparison() {
    if (!report_.comparison) return;
    const ReportChanges& comparison = *report_.comparison;
    line("## Compared with {}",
         comparison.revision.empty() ? name(comparison.folder) : name(comparison.revision));
    gap();
    const std::vector<std::string> sentences = changes_in(comparison);
    for (const std::string& sentence : sentences) line("- {}", markdown_text(sentence));
    if (sentences.empty()) line("- no step has changed");
    for (const StepChange& step : comparison.steps)
      for (const auto& [list, sign] :
           {std::pair{&step.appeared, "new"}, {&step.disappeared, "gone"}})
        for (std::size_t i = 0; i < std::min(list->size(), bounds_.breaches); ++i)
          if (text_.size() < bounds_.all)
            line("- {}: {} {}", sign, name(step.id), name((*list)[i]));
    gap();
  }

  void details(const ReportStep& step) {
    line("## {} {}", sign_of(step.verdict), name(step.id));
    gap();
    if (!step.reason.empty()) {
      line("{}", markdown_text(shortened(step.reason, 4 * bounds_.phrase)));
      gap();
    }
    breaches(step);
    if (step.verdict != StepVerdict::Pass) last_lines(step);
  }

  void breaches(const ReportStep& step) {
    if (step.breaches.empty()) return;
    const std::size_t shown = std::min(step.breaches.size(), bounds_.breaches);
    for (std::size_t i = 0; i < shown; ++i) {
      const Breach& breach = step.breaches[i];
      line("- **{}**: {}{}", markdown_text(breach.rule_id), name(breach.message),
           breach.count == 1 ? "" : fmt::format(", {} times", breach.count));
      if (!breach.decided_by.empty()) line("  - decided by {}", name(breach.decided_by));
      const std::size_t chain = std::min(breach.chain.size(), bounds_.chain);
      for (std::size_t k = 0; k < chain; ++k)
        line("  - {} {}", k == 0 ? "by" : "started by", name(breach.chain[k]));
      if (!breach.remedy.empty()) line("  - to allow it: {}", markdown_code(breach.remedy));
    }
    if (shown < step.breaches.size()) line("- and {} more", step.breaches.size() - shown);
    gap();
  }

  void last_lines(const ReportStep& step) {
    if (step.last_lines.empty()) return;
    line("The last lines that it wrote:");
    gap();
    std::string fence = "```";
    for (const std::string& one : step.last_lines)
      while (one.find(fence) != std::string::npos) fence += '`';
    line("{}text", fence);
    for (const std::string& one : step.last_lines) line("{}", visible(one));
    line("{}", fence);
    gap();
  }

  void notes() {
    const auto all = notes_of(report_);
    if (all.empty()) return;
    line("## Worth knowing");
    gap();
    std::size_t shown = 0;
    for (const auto& [note, steps] : all)
      if (shown++ < bounds_.destinations)
        line("- {} ({})", markdown_text(shortened(note, 4 * bounds_.phrase)),
             phrase(fmt::format("{}", fmt::join(steps, ", "))));
    gap();
  }

  void destinations() {
    const std::vector<Destination> list = destinations_of(report_, redaction_);
    if (list.empty()) return;
    line("## Destinations");
    gap();
    line("| Destination | Verdict | Times | By | Steps |");
    line("| --- | --- | --- | --- | --- |");
    std::size_t shown = 0;
    while (shown < std::min(list.size(), bounds_.destinations) && text_.size() < bounds_.all) {
      const Destination& destination = list[shown++];
      line("| {} | {} | {} | {} | {} |", name(destination.name),
           destination.denied ? "denied" : "allowed", destination.count,
           phrase(fmt::format("{}", fmt::join(destination.programs, ", "))),
           phrase(fmt::format("{}", fmt::join(destination.steps, ", "))));
    }
    gap();
    if (shown < list.size()) line("And {} more.\n", list.size() - shown);
  }

  void evidence(const std::vector<std::size_t>& order) {
    for (const std::size_t place : order) evidence(report_.steps[place]);
  }

  void evidence(const ReportStep& step) {
    line("<details><summary>Evidence of {}</summary>",
         markup_text(shortened(visible(step.id), bounds_.phrase)));
    gap();
    if (!step.description.empty()) {
      line("About this step: {}", markdown_text(step.description));
      gap();
    }
    if (const std::string place = to_string(step.origin); !place.empty())
      line("- written in {}", name(place));
    if (step.manifest) line("- manifest {}", name("sha256:" + step.manifest->digest()));
    if (step.run)
      about(*step.run);
    else
      line("- it was not run");
    gap();
    trees("Inputs", inputs_of(step));
    trees("Outputs", outputs_of(step));
    line("</details>");
    gap();
  }

  void about(const RunRecord& run) {
    line("- the command {}", markdown_text(ending_of(run.outcome.ending)));
    line("- {}", clause_count_of(run.plan));
    for (const PlannedClause& planned : run.plan.clauses) {
      if (planned.strength == Strength::Enforced) continue;
      line("  - {} is {}{}", name(to_string(planned.clause)), to_string(planned.strength),
           planned.given_up ? ", as the spec allows" : "");
    }
    line("- coverage");
    for (const std::string& sentence : coverage_sentences(run, redaction_))
      line("  - {}", phrase(sentence));
    controls(run.outcome.probes);
  }

  void controls(const std::vector<NegativeControl>& probes) {
    if (probes.empty()) {
      line("- negative controls: none were asked for");
      return;
    }
    line("- negative controls: tried inside before the command, and refused as they must be");
    for (const NegativeControl& probe : probes)
      line("  - {}: {}", name(probe.name), probe.tried ? "held" : "not tried, it is allowed");
  }

  void trees(std::string_view title, const std::vector<TreeFact>& all) {
    const auto [facts, empty] = without_empty(all);
    if (!facts.empty()) {
      line("| {} | Measured | Files | Size | Digest |", title);
      line("| --- | --- | --- | --- | --- |");
    }
    const std::size_t shown = std::min(facts.size(), kMostTrees);
    for (std::size_t i = 0; i < shown; ++i) {
      const TreeFact& fact = facts[i];
      line("| {} | {} | {} | {} | {} |", name(fact.path), markdown_text(fact.measure), fact.files,
           size_text(fact.size_bytes), name(fact.digest));
    }
    if (!facts.empty()) gap();
    if (shown < facts.size()) line("And {} more.\n", facts.size() - shown);
    for (const auto& [sentence, paths] : empty) {
      std::string names;
      for (std::size_t i = 0; i < std::min(paths.size(), kMostTrees); ++i)
        names += (i == 0 ? "" : ", ") + name(paths[i]);
      line("{}: {}{}", sentence, names,
           paths.size() > kMostTrees ? fmt::format(" and {} more", paths.size() - kMostTrees) : "");
      gap();
    }
  }

  const Report& report_;
  const Redaction& redaction_;
  const Bounds& bounds_;
  std::string text_;
};

}  // namespace

std::string report_as_markdown(const Report& report, const Redaction& redaction) {
  return MarkdownReport(report, redaction, kReportBounds).finish();
}

std::string report_as_summary(const Report& report, const Redaction& redaction) {
  return MarkdownReport(report, redaction, kSummaryBounds).finish();
}

}  // namespace hermetic
