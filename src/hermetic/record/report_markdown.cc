// The report as Markdown: the summary of a CI job, a comment, a file that is read as it is.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "hermetic/record/markup.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_words.h"

namespace hermetic {
namespace {

// A summary that is too large is shown by nobody; the page and SARIF have the rest.
constexpr std::size_t kMostBreaches = 50;
constexpr std::size_t kMostTrees = 100;
constexpr std::size_t kLongestPhrase = 200;

std::string name(std::string_view text) { return markdown_code(shortened(text, kLongestPhrase)); }

class MarkdownReport {
 public:
  explicit MarkdownReport(const Report& report) : report_(report) {}

  [[nodiscard]] std::string finish() && {
    header();
    steps();
    for (const ReportStep& step : report_.steps) breaches(step);
    for (const ReportStep& step : report_.steps) evidence(step);
    return std::move(text_);
  }

 private:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void gap() { text_ += '\n'; }

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
    if (text_.size() != before) gap();
  }

  void steps() {
    line("| Step | Verdict | Breaches | Why |");
    line("| --- | --- | --- | --- |");
    for (const ReportStep& step : report_.steps)
      line("| {} | {} {} | {} | {} |", name(step.id), sign_of(step.verdict),
           to_string(step.verdict), step.breaches.size(),
           markdown_text(shortened(step.reason, kLongestPhrase)));
    gap();
  }

  void breaches(const ReportStep& step) {
    if (step.breaches.empty()) return;
    line("## Breaches of {}", name(step.id));
    gap();
    const std::size_t shown = std::min(step.breaches.size(), kMostBreaches);
    for (std::size_t i = 0; i < shown; ++i) {
      const Breach& breach = step.breaches[i];
      line("- **{}**: {}", markdown_text(breach.rule_id), markdown_code(breach.message));
      if (!breach.decided_by.empty()) line("  - decided by {}", name(breach.decided_by));
      bool first = true;
      for (const std::string& process : breach.chain) {
        line("  - {} {}", first ? "by" : "started by", name(process));
        first = false;
      }
    }
    if (shown < step.breaches.size()) line("- and {} more", step.breaches.size() - shown);
    gap();
  }

  void evidence(const ReportStep& step) {
    line("## Evidence of {}", name(step.id));
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
  }

  void about(const RunRecord& run) {
    const Redaction redaction(run.plan.environment);
    line("- the command {}", markdown_text(ending_of(run.outcome.ending)));
    line("- {}", clause_count_of(run.plan));
    for (const PlannedClause& planned : run.plan.clauses) {
      if (planned.strength == Strength::Enforced) continue;
      line("  - {} is {}{}", name(to_string(planned.clause)), to_string(planned.strength),
           planned.given_up ? ", as the spec allows" : "");
    }
    line("- coverage");
    for (const std::string& sentence : coverage_sentences(run, redaction))
      line("  - {}", markdown_text(shortened(sentence, kLongestPhrase)));
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

  void trees(std::string_view title, const std::vector<TreeFact>& facts) {
    if (facts.empty()) return;
    line("| {} | Measured | Files | Size | Digest |", title);
    line("| --- | --- | --- | --- | --- |");
    const std::size_t shown = std::min(facts.size(), kMostTrees);
    for (std::size_t i = 0; i < shown; ++i) {
      const TreeFact& fact = facts[i];
      line("| {} | {} | {} | {} | {} |", name(fact.path), markdown_text(fact.measure), fact.files,
           size_text(fact.size_bytes), name(fact.digest));
    }
    gap();
    if (shown < facts.size()) line("And {} more.\n", facts.size() - shown);
  }

  const Report& report_;
  std::string text_;
};

}  // namespace

std::string report_as_markdown(const Report& report) { return MarkdownReport(report).finish(); }

}  // namespace hermetic
