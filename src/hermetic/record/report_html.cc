// The report as one page that stands alone: it loads nothing, and its one script only copies.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "hermetic/base/digest.h"
#include "hermetic/record/event_json.h"
#include "hermetic/record/markup.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_processes.h"
#include "hermetic/record/report_script.h"
#include "hermetic/record/report_sections.h"
#include "hermetic/record/report_style.h"
#include "hermetic/record/report_timeline.h"
#include "hermetic/record/report_words.h"

namespace hermetic {
namespace {

constexpr std::size_t kLongestTitle = 300;

std::string base64_of_hexadecimal(std::string_view hexadecimal) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  unsigned bits = 0;
  unsigned waiting = 0;
  for (const char digit : hexadecimal) {
    const bool is_letter = digit >= 'a';
    bits = bits << 4U | static_cast<unsigned>(is_letter ? digit - 'a' + 10 : digit - '0');
    waiting += 4;
    if (waiting < 6) continue;
    waiting -= 6;
    text += kDigits[(bits >> waiting) & 63U];
  }
  if (waiting > 0) text += kDigits[(bits << (6 - waiting)) & 63U];
  while (text.size() % 4 != 0) text += '=';
  return text;
}

std::string word_for(std::string_view name) {
  std::string word(name);
  if (!word.empty()) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
  return word;
}
std::string word_for(StepVerdict verdict) { return word_for(to_string(verdict)); }

std::string badge(StepVerdict verdict) {
  return fmt::format("<span class=\"badge {0}\">{1} {0}</span>", to_string(verdict),
                     sign_of(verdict));
}

std::string fact(std::string_view name, const std::string& value) {
  return value.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, value);
}

class HtmlReport {
 public:
  HtmlReport(const Report& report, const Redaction& redaction)
      : report_(report), redaction_(redaction) {}

  [[nodiscard]] std::string finish() && {
    head();
    verdict();
    const std::vector<std::size_t> order = worst_first(report_);
    overview(order);
    for (const std::size_t place : order)
      if (!is_calm(report_.steps[place])) step(report_.steps[place], place + 1);
    section("compared", "Compared with an earlier run", comparison_as_html(report_, redaction_));
    section("timeline", "When each step ran", steps_over_time_as_html(report_, redaction_));
    section("destinations", "Destinations",
            destinations_as_html(destinations_of(report_, redaction_)));
    for (const std::size_t place : order)
      if (is_calm(report_.steps[place])) step(report_.steps[place], place + 1);
    text_ += fmt::format(
        "<footer>Written by hermetic. This page loads nothing, and its script only copies what "
        "stands beside a button; the manifests, the events and the attestations beside it are what "
        "it was made from.</footer>\n</main>\n<script>{}</script>\n</body>\n</html>\n",
        report_script());
    return std::move(text_);
  }

 private:
  // Only this very style sheet and this very script: whatever text got in could neither run nor
  // change how the page looks.
  void head() {
    const std::string style(report_style());
    text_ += fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n"
        "<title>{}: {}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
        base64_of_hexadecimal(sha256(style)), base64_of_hexadecimal(sha256(report_script())),
        word_for(report_.verdict()), markup_text(shortened(visible(report_.title), kLongestTitle)),
        style);
  }

  void verdict() {
    const StepVerdict verdict = report_.verdict();
    text_ += fmt::format(
        "<header class=\"verdict {0}\">\n<p class=\"title\">{1}</p>\n"
        "<h1><span class=\"sign\" aria-hidden=\"true\">{2}</span>{3}</h1>\n"
        "<p class=\"summary\">{4}</p>\n<p class=\"assurance\">{5}</p>\n",
        to_string(verdict), html_phrase(report_.title), sign_of(verdict), word_for(verdict),
        summary_of(report_), meaning_of(report_.assurance));
    std::string facts;
    if (!report_.revision.empty()) facts += fact("Revision", html_code(report_.revision));
    if (!report_.policy_file.empty()) facts += fact("Policy", html_code(report_.policy_file));
    if (!report_.policy_digest.empty())
      facts += fact("Policy digest", html_code("sha256:" + report_.policy_digest));
    facts += fact("Started", started());
    for (const ReportLink& link : report_.links)
      if (is_web_address(link.address))
        facts += fact(markup_text(word_for(link.name)),
                      fmt::format("<a href=\"{0}\" rel=\"noreferrer noopener\">{0}</a>",
                                  markup_text(link.address)));
    if (!facts.empty()) text_ += fmt::format("<dl class=\"facts\">\n{}</dl>\n", facts);
    text_ += "</header>\n";
  }

  // The first of all runs; "" if there was none.
  [[nodiscard]] std::string started() const {
    const ReportStep* first = nullptr;
    for (const ReportStep& step : report_.steps)
      if (step.run && (first == nullptr || step.run->started < first->run->started)) first = &step;
    if (first == nullptr) return "";
    const std::string precise = timestamp(first->run->started);
    return fmt::format("{} {} UTC", precise.substr(0, 10), precise.substr(11, 8));
  }

  void section(std::string_view id, std::string_view title, const std::string& body) {
    if (!body.empty())
      text_ +=
          fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                      id, title, body);
  }

  // There is nothing to look at.
  static bool is_calm(const ReportStep& step) {
    return step.verdict == StepVerdict::Pass && step.breaches.empty() && step.notes.empty();
  }

  // Many steps that passed would hide those that did not.
  void overview(const std::vector<std::size_t>& order) {
    constexpr std::size_t kMostCalm = 12;
    std::string rows;
    std::string calm_rows;
    std::size_t calm = 0;
    for (const std::size_t place : order) {
      const ReportStep& step = report_.steps[place];
      const bool all_well = is_calm(step);
      calm += all_well ? 1U : 0U;
      std::string& list = all_well ? calm_rows : rows;
      list += fmt::format("<li>{} <a href=\"#step-{}\">{}</a>", badge(step.verdict), place + 1,
                          html_code(step.id));
      if (const auto time = took(step))
        list += fmt::format(" <span class=\"time\">{}</span>", duration_text(*time));
      const std::string why = step.reason.empty() ? brief_of(step.breaches) : step.reason;
      if (!why.empty())
        list += fmt::format(" <span class=\"why\">{}</span>", html_phrase(redaction_.clean(why)));
      list += "</li>\n";
    }
    const auto listed = [](const std::string& items) {
      return items.empty() ? "" : fmt::format("<ol class=\"steps\">\n{}</ol>\n", items);
    };
    std::string body = listed(rows);
    if (body.empty() || calm <= kMostCalm)
      body = listed(rows + calm_rows);
    else
      body += fmt::format(
          "<details class=\"fold\"><summary>{} passed</summary><div class=\"body\">\n{}"
          "</div></details>\n",
          counted(calm, "step"), listed(calm_rows));
    section("steps", "Steps", body.empty() ? "<p class=\"soft\">There is none.</p>\n" : body);
  }

  void part(std::string_view title, const std::string& body) {
    if (!body.empty()) text_ += fmt::format("<h3>{}</h3>\n{}", title, body);
  }

  void step(const ReportStep& step, std::size_t number) {
    text_ +=
        fmt::format("<section class=\"step {}\" id=\"step-{}\">\n<header>{}<h2>{}</h2></header>\n",
                    to_string(step.verdict), number, badge(step.verdict), html_code(step.id));
    if (!step.description.empty())
      text_ += fmt::format("<p class=\"about\">{}</p>\n",
                           html_phrase(redaction_.clean(step.description)));
    if (!step.reason.empty())
      text_ +=
          fmt::format("<p class=\"reason\">{}</p>\n", html_phrase(redaction_.clean(step.reason)));
    std::string facts;
    if (const std::string place = to_string(step.origin); !place.empty())
      facts += fact("Written in", html_code(place));
    if (step.run) facts += facts_of(*step.run);
    if (step.manifest) facts += fact("Manifest", html_code("sha256:" + step.manifest->digest()));
    if (!facts.empty()) text_ += fmt::format("<dl class=\"facts\">\n{}</dl>\n", facts);
    part("Breaches", breaches_as_html(step.breaches));
    part("Worth knowing", notes_as_html(step.notes, redaction_));
    const bool calm = is_calm(step);
    if (step.verdict != StepVerdict::Pass)
      part("The last lines that it wrote", last_lines_as_html(step.last_lines, redaction_));
    if (step.run) {
      // What went well is there for who wants to know, and out of the way of what did not.
      if (calm)
        text_ += "<details class=\"fold\"><summary>All about it</summary><div class=\"body\">\n";
      about(step, *step.run);
      if (calm) text_ += "</div></details>\n";
    }
    text_ += "</section>\n";
  }

  [[nodiscard]] std::string facts_of(const RunRecord& run) const {
    const Usage& usage = run.outcome.usage;
    return fact("Command", html_code(command_line("", run.plan.command, redaction_))) +
           fact("Ending", html_phrase(redaction_.clean(ending_of(run.outcome.ending)))) +
           fact("Sandbox", html_phrase(redaction_.clean(run.plan.backend)) + ", " +
                               clause_count_of(run.plan)) +
           fact("Used", fmt::format("{}, {} of processor time, at most {} of memory, {}",
                                    duration_text(usage.wall_time), duration_text(usage.cpu_time()),
                                    size_text(usage.peak_memory_bytes),
                                    counted(usage.started_processes, "process")));
  }

  void about(const ReportStep& step, const RunRecord& run) {
    part("What it used over time", timeline_as_html(run.samples));
    part("Network", attempts_as_html(run.network, redaction_));
    part("Processes", processes_as_html(run.processes, redaction_));
    part("Inputs", trees_as_html(inputs_of(step), redaction_));
    part("Outputs", trees_as_html(outputs_of(step), redaction_));
    part("Clauses", clauses_as_html(run.plan, redaction_));
    part("Negative controls", controls_as_html(run.outcome.probes));
    part("Coverage", coverage_as_html(run, redaction_));
    part("Captured output", output_as_html("Standard output", step.standard_output, redaction_) +
                                output_as_html("Standard error", step.standard_error, redaction_));
  }

  const Report& report_;
  const Redaction& redaction_;
  std::string text_;
};

}  // namespace

std::string report_as_html(const Report& report, const Redaction& redaction) {
  return HtmlReport(report, redaction).finish();
}

}  // namespace hermetic
