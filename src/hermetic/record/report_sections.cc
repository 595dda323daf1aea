#include "hermetic/record/report_sections.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/record/markup.h"

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

// The tone of a strength is that of a verdict.
std::string_view tone_of(Strength strength) {
  switch (strength) {
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
                                 to_string(planned.clause), tone_of(planned.strength),
                                 to_string(planned.strength), promise_of(planned.clause));
  if (!how.empty())
    text += fmt::format("<br><span class=\"note\">{} {}</span>", enforced ? "by" : "because",
                        html_phrase(redaction.clean(how)));
  if (planned.given_up) text += "<br><span class=\"note\">the spec says that less will do</span>";
  return text + "</li>\n";
}

std::string clause_rows(const Plan& plan, bool enforced, const Redaction& redaction) {
  std::string text;
  for (const PlannedClause& planned : plan.clauses)
    if ((planned.strength == Strength::Enforced) == enforced)
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

std::string trees_as_html(const std::vector<TreeFact>& facts, const Redaction& redaction) {
  if (facts.empty()) return "";
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
