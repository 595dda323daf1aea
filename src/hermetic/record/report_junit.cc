// The report as JUnit's XML, which every CI system shows: a test case for each step.
//
// Valid by the schema of Jenkins. Steps stand in the order of the policy: CI systems sort by
// themselves.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "hermetic/record/markup.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_words.h"

namespace hermetic {
namespace {

std::string details_of(const ReportStep& step) {
  std::string text = visible(step.reason);
  for (const Breach& breach : step.breaches) {
    text += fmt::format("\n{}: {}", visible(breach.rule_id), visible(breach.message));
    if (!breach.decided_by.empty())
      text += fmt::format("\n  decided by {}", visible(breach.decided_by));
    bool first = true;
    for (const std::string& process : breach.chain) {
      text += fmt::format("\n  {} {}", first ? "by" : "started by", visible(process));
      first = false;
    }
    if (!breach.remedy.empty()) text += fmt::format("\n  to allow it: {}", visible(breach.remedy));
  }
  for (const std::string& note : step.notes) text += "\n" + visible(note);
  if (!step.last_lines.empty()) text += "\n\nThe last lines that it wrote:";
  for (const std::string& one : step.last_lines) text += "\n" + visible(one);
  // Line by line: a line break is the one control character that is meant.
  std::string escaped;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (begin != 0) escaped += '\n';
    escaped += markup_text(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return escaped;
}

std::string type_of(const ReportStep& step) {
  return step.breaches.empty() ? "command" : markup_text(step.breaches.front().rule_id);
}

std::string seconds_text(std::chrono::microseconds time) {
  return fmt::format("{:.3f}", std::chrono::duration<double>(time).count());
}

std::string case_of(const Report& report, const ReportStep& step) {
  std::string text = fmt::format(R"(    <testcase classname="{}" name="{}" time="{}")",
                                 markup_text(report.title), markup_text(step.id),
                                 seconds_text(took(step).value_or(std::chrono::microseconds(0))));
  switch (step.verdict) {
    case StepVerdict::Pass: return text + "/>\n";
    case StepVerdict::Skipped:
      text += fmt::format(">\n      <skipped>{}</skipped>", details_of(step));
      break;
    case StepVerdict::Error:
      text += fmt::format(">\n      <error type=\"{}\" message=\"{}\">{}</error>", type_of(step),
                          markup_text(step.reason), details_of(step));
      break;
    case StepVerdict::Fail:
      text += fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>",
                          type_of(step), markup_text(step.reason), details_of(step));
      break;
  }
  return text + "\n    </testcase>\n";
}

}  // namespace

std::string report_as_junit(const Report& report) {
  const auto number_of = [&](StepVerdict verdict) {
    return std::count_if(report.steps.begin(), report.steps.end(),
                         [&](const ReportStep& step) { return step.verdict == verdict; });
  };
  const std::string numbers =
      fmt::format(R"(tests="{}" failures="{}" errors="{}")", report.steps.size(),
                  number_of(StepVerdict::Fail), number_of(StepVerdict::Error));
  const std::string title = markup_text(report.title);
  std::chrono::microseconds all{0};
  for (const ReportStep& step : report.steps)
    all += took(step).value_or(std::chrono::microseconds(0));
  const std::string time = seconds_text(all);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"{}\" {} time=\"{}\">\n", title, numbers, time);
  text += fmt::format("  <testsuite name=\"{}\" {} skipped=\"{}\" time=\"{}\">\n", title, numbers,
                      number_of(StepVerdict::Skipped), time);
  const auto property = [&](std::string_view name, std::string_view value) {
    if (!value.empty())
      text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, markup_text(value));
  };
  text += "    <properties>\n";  // never empty: the schema forbids that
  property("verdict", to_string(report.verdict()));
  property("assurance", to_string(report.assurance));
  property("revision", report.revision);
  property("policy", report.policy_file);
  property("policy_digest", report.policy_digest);
  for (const ReportLink& link : report.links) property(markup_text(link.name), link.address);
  text += "    </properties>\n";
  for (const ReportStep& step : report.steps) text += case_of(report, step);
  return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace hermetic
