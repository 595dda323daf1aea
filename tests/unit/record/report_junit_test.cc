#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "hermetic/record/report.h"
#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ReportJunit, CountsEachVerdict) {
  EXPECT_THAT(report_as_junit(samples::sample_report()),
              HasSubstr(R"(tests="3" failures="1" errors="0" skipped="1" time="48.000">)"));
  EXPECT_THAT(report_as_junit(samples::hostile_report()),
              HasSubstr(R"(tests="24" failures="6" errors="6" skipped="6" time="576.000">)"));
}

TEST(ReportJunit, ToldByVerdict) {
  Report report = samples::sample_report();
  report.steps = {report.steps[2]};
  ReportStep& step = report.steps[0];
  EXPECT_THAT(report_as_junit(report), HasSubstr("<skipped>it needs the step integration"));
  step.verdict = StepVerdict::Error;
  step.reason = "a < b ]]> \"c\"";
  EXPECT_THAT(
      report_as_junit(report),
      HasSubstr("<error type=\"command\" message=\"a &lt; b ]]&gt; &quot;c&quot;\">a &lt; b "
                "]]&gt; &quot;c&quot;</error>"));
  step.verdict = StepVerdict::Pass;
  EXPECT_THAT(report_as_junit(report), HasSubstr("name=\"package\" time=\"0.000\"/>"));
}

TEST(ReportJunit, HasTimesAndTheLastLines) {
  Report report = samples::sample_report();
  report.steps[1].last_lines = {"E   a < b", "1 failed"};
  const std::string text = report_as_junit(report);
  EXPECT_THAT(text, HasSubstr("name=\"unit-tests\" time=\"24.000\"/>"));
  EXPECT_THAT(text,
              HasSubstr("\n\nThe last lines that it wrote:\nE   a &lt; b\n1 failed</failure>"));
}

TEST(ReportJunit, PropertiesAreNeverEmpty) {
  EXPECT_THAT(report_as_junit(Report{}), HasSubstr(R"(<property name="verdict" value="error"/>)"));
  EXPECT_THAT(report_as_junit(Report{}), Not(HasSubstr("name=\"revision\"")));
}

}  // namespace
}  // namespace hermetic
