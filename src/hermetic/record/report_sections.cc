#include "hermetic/record/report_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "hermetic/record/markup.h"
#include "hermetic/record/report_timeline.h"

namespace hermetic {
namespace {

// A page that is too large is read by nobody; the other files of the evidence have all.
constexpr std::size_t kMostRows = 500;
constexpr std::size_t kMostOutput = std::size_t{32} << 10U;
constexpr std::size_t kShortLine = 160;  // where the whole stands elsewhere on the page

std::string times(std::uint64_t count) {
  return count == 1 ? "" : fmt::format(" <span class=\"times\">{} times</span>", count);
}

std::string more_than(std::size_t shown, std::size_t all) {
  return shown == all ? "" : fmt::format("<p class=\"soft\">and {} more</p>\n", all - shown);
}

// The tone of a strength is that of a verdict. What the spec gives up by itself is no defect.
std::string_view tone_of(const PlannedClause& planned) {
  if (planned.given_up) return "skipped";
  switch (planned.strength) {
    case Strength::Enforced: return "pass";
    case Strength::Observed: return "error";
    case Strength::Absent: return "fail";
  }
  return "";
}

std::string clause_row(const PlannedClause& planned, const Redaction& redaction) {
  const bool enforced = planned.strength == Strength::Enforced;
  const std::string& how = enforced ? planned.mechanism : planned.reason;
  std::string text = fmt::format("<li><code>{}</code> <span class=\"strength {}\">{}</span><br>{}",
                                 to_string(planned.clause), tone_of(planned),
                                 to_string(planned.strength), promise_of(planned.clause));
  if (!how.empty())
    text += fmt::format("<br><span class=\"note\">{} {}</span>", enforced ? "by" : "because",
                        html_phrase(redaction.clean(how)));
  if (planned.given_up && !enforced)
    text += "<br><span class=\"note\">by the choice of the spec</span>";
  return text + "</li>\n";
}

std::string clause_rows(const Plan& plan, bool as_wanted, const Redaction& redaction) {
  std::string text;
  for (const PlannedClause& planned : plan.clauses)
    if ((planned.strength == Strength::Enforced || planned.given_up) == as_wanted)
      text += clause_row(planned, redaction);
  return text.empty() ? "" : "<ul class=\"rows\">\n" + text + "</ul>\n";
}

}  // namespace

std::string breaches_as_html(const std::vector<Breach>& breaches) {
  if (breaches.empty()) return "";
  std::string text = "<ol class=\"breaches\">\n";
  const std::size_t shown = std::min(breaches.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const Breach& breach = breaches[i];
    text += fmt::format(
        "<li><p class=\"message\"><span class=\"rule\">{}</span> {}{}</p>\n<dl class=\"facts\">",
        html_phrase(breach.rule_id), html_phrase(breach.message), times(breach.count));
    text += fmt::format("<dt>Decided by</dt><dd>{}</dd>",
                        breach.decided_by.empty() ? "–" : html_code(breach.decided_by));
    if (!breach.remedy.empty())
      text += fmt::format(
          "<dt>To allow it</dt><dd class=\"remedy\">{} <button class=\"copy\" type=\"button\" "
          "hidden>Copy</button></dd>",
          html_code(breach.remedy));
    text += "<dt>Process chain</dt><dd>";
    if (breach.chain.empty()) {
      text += "–";
    } else {
      text += "<ol class=\"chain\">";
      std::string_view before;
      for (const std::string& process : breach.chain) {
        text += fmt::format("<li>{}{}</li>", before, html_code(process));
        before = "<span class=\"soft\">started by</span> ";
      }
      text += "</ol>";
    }
    text += "</dd></dl></li>\n";
  }
  return text + "</ol>\n" + more_than(shown, breaches.size());
}

std::string trees_as_html(const std::vector<TreeFact>& all, const Redaction& redaction) {
  if (all.empty()) return "";
  const auto [facts, empty] = without_empty(all);
  std::string text = "<ul class=\"rows\">\n";
  const std::size_t shown = std::min(facts.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const TreeFact& fact = facts[i];
    text += fmt::format("<li>{} <span class=\"note\">{}, {}, {}</span>",
                        html_code(redaction.clean(fact.path)), html_phrase(fact.measure),
                        counted(fact.files, "file"), size_text(fact.size_bytes));
    if (!fact.digest.empty())
      text += fmt::format("<code class=\"digest\">{}</code>", markup_text(fact.digest));
    text += "</li>\n";
  }
  for (const auto& [sentence, paths] : empty) {
    text += fmt::format("<li><span class=\"note\">{}</span>", sentence);
    const std::size_t named = std::min(paths.size(), kMostRows);
    for (std::size_t i = 0; i < named; ++i)
      text += fmt::format("{} {}", i == 0 ? "" : ",", html_code(redaction.clean(paths[i])));
    text += named < paths.size() ? fmt::format(" and {} more</li>\n", paths.size() - named)
                                 : std::string("</li>\n");
  }
  return text + "</ul>\n" + more_than(shown, facts.size());
}

std::string clauses_as_html(const Plan& plan, const Redaction& redaction) {
  if (plan.clauses.empty()) return "";
  // What does not hold as it should comes first, and cannot be folded away.
  return clause_rows(plan, false, redaction) +
         fmt::format(
             "<details class=\"fold\"><summary>{}</summary><div class=\"body\">\n{}"
             "</div></details>\n",
             clause_count_of(plan), clause_rows(plan, true, redaction));
}

std::string controls_as_html(const std::vector<NegativeControl>& probes) {
  if (probes.empty())
    return "<p class=\"soft\">None were asked for: nothing shows that the sandbox held but its "
           "clauses.</p>\n";
  std::string text = "<ul class=\"controls\">\n";
  for (const NegativeControl& probe : probes)
    text += fmt::format("<li class=\"{}\">{} <b>{}</b></li>\n", probe.tried ? "pass" : "skipped",
                        html_phrase(probe.name), probe.tried ? "held" : "not tried");
  return text +
         "</ul>\n<p class=\"soft\">Tried inside this very sandbox before the command started, and "
         "refused, as they must be. What the policy allows is not tried.</p>\n";
}

std::string coverage_as_html(const RunRecord& run, const Redaction& redaction) {
  std::string text = "<ul class=\"notes\">\n";
  for (const std::string& sentence : coverage_sentences(run, redaction))
    text += fmt::format("<li>{}</li>\n", html_phrase(sentence));
  return text + "</ul>\n";
}

std::string attempts_as_html(const std::vector<Attempt>& attempts, const Redaction& redaction) {
  if (attempts.empty()) return "";
  std::string text = "<ul class=\"rows\">\n";
  const std::size_t shown = std::min(attempts.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const Event& event = attempts[i].event;
    const bool denied = event.verdict == Verdict::Deny;
    const std::string_view tone = denied                            ? "fail"
                                  : event.verdict == Verdict::Allow ? "pass"
                                                                    : "skipped";
    const std::string_view word = denied                            ? "denied"
                                  : event.verdict == Verdict::Allow ? "allowed"
                                                                    : "seen";
    text += fmt::format("<li><span class=\"strength {}\">{}</span> {} {}{}", tone, word,
                        html_phrase(redaction.clean(event.act)),
                        html_code(redaction.clean(event.subject)), times(attempts[i].count));
    if (!event.processes.empty()) {
      const ProcessFacts& who = event.processes.front();
      text += fmt::format(
          "<br><span class=\"note\">by {}</span>",
          html_code(shortened(command_line(who.executable, who.arguments, redaction), kShortLine)));
    }
    text += "</li>\n";
  }
  return text + "</ul>\n" + more_than(shown, attempts.size());
}

std::string destinations_as_html(const std::vector<Destination>& destinations) {
  if (destinations.empty()) return "";
  std::string text =
      "<table>\n<thead><tr><th>Destination</th><th>Verdict</th><th>By</th><th>Steps</th></tr></"
      "thead>"
      "\n<tbody>\n";
  const std::size_t shown = std::min(destinations.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const Destination& destination = destinations[i];
    text += fmt::format(
        "<tr><td>{}{}</td><td><span class=\"strength "
        "{}\">{}</span></td><td>{}</td><td>{}</td></tr>\n",
        html_code(destination.name), times(destination.count), destination.denied ? "fail" : "pass",
        destination.denied ? "denied" : "allowed",
        html_phrase(fmt::format("{}", fmt::join(destination.programs, ", "))),
        html_phrase(fmt::format("{}", fmt::join(destination.steps, ", "))));
  }
  return text + "</tbody>\n</table>\n" + more_than(shown, destinations.size());
}

std::string notes_as_html(const std::vector<std::string>& notes, const Redaction& redaction) {
  if (notes.empty()) return "";
  std::string text = "<ul class=\"notes\">\n";
  for (const std::string& note : notes)
    text += fmt::format("<li>{}</li>\n", html_phrase(redaction.clean(note)));
  return text + "</ul>\n";
}

std::string last_lines_as_html(const std::vector<std::string>& lines, const Redaction& redaction) {
  if (lines.empty()) return "";
  std::string text;
  for (const std::string& line : lines) text += markup_text(redaction.clean(line)) + '\n';
  return fmt::format("<pre class=\"last\" tabindex=\"0\">\n{}</pre>\n", text);
}

std::string comparison_as_html(const Report& report, const Redaction& redaction) {
  if (!report.comparison) return "";
  const ReportChanges& comparison = *report.comparison;
  std::string text = fmt::format(
      "<p class=\"soft\">With {}{}.</p>\n", html_code(comparison.folder),
      comparison.revision.empty() ? "" : ", revision " + html_code(comparison.revision));
  const std::vector<std::string> sentences = changes_in(comparison);
  text += "<ul class=\"notes\">\n";
  for (const std::string& sentence : sentences)
    text += fmt::format("<li>{}</li>\n", html_phrase(sentence));
  if (sentences.empty()) text += "<li>No step has changed.</li>\n";
  text += "</ul>\n";
  std::string rows;
  std::size_t shown = 0;
  std::size_t changed = 0;
  for (const StepChange& step : comparison.steps) {
    // The sentences have named those that came or went without more to tell.
    const bool is_named = step.before.empty() || step.now.empty();
    if (step.is_silent() || (is_named && step.appeared.empty() && step.disappeared.empty()))
      continue;
    if (++changed > kMostRows) continue;
    ++shown;
    rows += fmt::format("<li>{} <span class=\"note\">{} → {}</span>", html_code(step.id),
                        step.before.empty() ? "not there" : html_phrase(step.before),
                        step.now.empty() ? "not there" : html_phrase(step.now));
    if (step.took_before && step.took)
      rows += fmt::format("<span class=\"note\">, {} → {}</span>", duration_text(*step.took_before),
                          duration_text(*step.took));
    for (const auto& [list, word, tone] :
         {std::tuple{&step.appeared, "new", "fail"}, {&step.disappeared, "gone", "pass"}})
      for (std::size_t i = 0; i < std::min<std::size_t>(list->size(), 20); ++i)
        rows += fmt::format("<br><span class=\"strength {}\">{}</span> {}", tone, word,
                            html_code(redaction.clean((*list)[i])));
    rows += "</li>\n";
  }
  if (!rows.empty()) text += "<ul class=\"rows\">\n" + rows + "</ul>\n" + more_than(shown, changed);
  return text;
}

std::string output_as_html(std::string_view title, std::string_view output,
                           const Redaction& redaction) {
  if (output.empty()) return "";
  std::string whole = redaction.clean(output);
  std::string_view rest = whole;
  const bool cut = rest.size() > kMostOutput;
  if (cut) rest.remove_prefix(rest.size() - kMostOutput);
  std::string lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines += markup_text(rest.substr(0, end));
    lines += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return fmt::format(
      "<details class=\"fold\"><summary>{}{}</summary><div class=\"body\">"
      "<pre tabindex=\"0\">\n{}</pre></div></details>\n",
      title, cut ? fmt::format(": the last {}", size_text(kMostOutput)) : "", lines);
}

}  // namespace hermetic
