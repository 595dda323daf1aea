#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "hermetic/base/text.h"
#include "hermetic/record/report.h"
#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two equal runs: another time, other numbers, other amounts.
Report later(Report report) {
  for (ReportStep& step : report.steps) {
    if (!step.run) continue;
    step.run->started += std::chrono::hours(5);
    step.run->outcome.usage = {};
    step.run->samples.clear();
    step.run->processes.clear();
    for (Attempt& attempt : step.run->network) attempt.count += 7;
    for (Breach& breach : step.breaches) breach.count += 7;
    step.standard_output += "took 5 s\n";
  }
  return report;
}

TEST(ReportMarkdown, BeginsWithTheVerdict) {
  EXPECT_THAT(report_as_markdown(samples::sample_report()),
              StartsWith("# ✗ hermetic gate: fail\n\n**1 of 3 steps passed, 1 failed, 1 was "
                         "skipped; 3 breaches.**"));
}

TEST(ReportMarkdown, HoldsNothingThatDiffersBetweenEqualRuns) {
  const Report report = samples::sample_report();
  EXPECT_EQ(report_as_markdown(report), report_as_markdown(later(report)));
  EXPECT_EQ(report_as_sarif(report), report_as_sarif(later(report)));
  EXPECT_EQ(report_as_junit(report), report_as_junit(later(report)));
}

TEST(ReportMarkdown, SaysWhenTheRecordHasHoles) {
  Report report = samples::sample_report();
  EXPECT_THAT(report_as_markdown(report), HasSubstr("no event was lost"));
  for (ReportStep& step : report.steps)
    if (step.run) step.run->lost_events = 3;
  EXPECT_THAT(report_as_markdown(report), Not(HasSubstr("no event was lost")));
  EXPECT_THAT(report_as_markdown(report), HasSubstr("events were lost"));
}

TEST(ReportMarkdown, OneLineStaysOneLine) {
  Report report = samples::sample_report();
  report.steps = {report.steps[2]};
  report.steps[0].id = "a\n# b";
  report.steps[0].reason = "c\r\nd | e";
  EXPECT_THAT(report_as_markdown(report),
              HasSubstr("| `a\\n# b` | – skipped | 0 | c\\\\x0d\\\\nd \\| e |\n"));
}

TEST(ReportMarkdown, IsUtf8WithoutControlCharactersWhateverComesIn) {
  for (const auto form : {report_as_markdown, report_as_sarif, report_as_junit}) {
    const std::string text = form(samples::hostile_report());
    EXPECT_TRUE(is_utf8(text));
    std::size_t lines = 0;
    for (const char c : text) lines += c == '\n' ? 1 : 0;
    std::string without = text;
    std::erase(without, '\n');
    EXPECT_EQ(printable(without), without);
    EXPECT_GT(lines, 24U);
  }
}

TEST(ReportMarkdown, IsNoLargerThanASummaryMayBe) {
  Report report = samples::sample_report();
  const Breach breach = report.steps[1].breaches[0];
  report.steps[1].breaches.assign(10'000, breach);
  const std::string text = report_as_markdown(report);
  EXPECT_LT(text.size(), std::size_t{1} << 20U);
  EXPECT_THAT(text, HasSubstr("- and 9950 more\n"));
}

}  // namespace
}  // namespace hermetic
