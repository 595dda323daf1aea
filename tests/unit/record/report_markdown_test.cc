#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "hermetic/base/text.h"
#include "hermetic/record/report.h"
#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Redaction kNothing{std::map<std::string, std::string>{}};

std::string markdown_of(const Report& report) { return report_as_markdown(report, kNothing); }

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
  EXPECT_THAT(markdown_of(samples::sample_report()),
              StartsWith("# ✗ hermetic gate: fail\n\n**1 of 3 steps passed, 1 failed, 1 was "
                         "skipped; 3 breaches.**"));
}

TEST(ReportMarkdown, OfTwoEqualRunsSarifIsTheSame) {
  const Report report = samples::sample_report();
  EXPECT_EQ(report_as_sarif(report), report_as_sarif(later(report)));
  EXPECT_NE(markdown_of(report), markdown_of(later(report)));  // it has times
}

TEST(ReportMarkdown, ShowsFailedStepsFirstWithTheFirstBreachAndTheLastLines) {
  Report report = samples::sample_report();
  report.steps[1].last_lines = {"E   ConnectionError: no route", "```", "<b>1 failed</b>"};
  report.steps[1].breaches[0].remedy = "allow: {exceptions: [{listen: 8080}]}";
  const std::string text = markdown_of(report);
  EXPECT_LT(text.find("| `integration` |"), text.find("| `unit-tests` |"));
  EXPECT_THAT(text, HasSubstr("| `unit-tests` | ✓ pass | 24.0 s |  |"));
  EXPECT_THAT(text,
              HasSubstr("````text\nE   ConnectionError: no route\n```\n<b>1 failed</b>\n````\n"));
  EXPECT_THAT(text, HasSubstr("- to allow it: `allow: {exceptions: [{listen: 8080}]}`\n"));
  EXPECT_THAT(text, HasSubstr("| `192.0.2.1:443/tcp` | denied | 3 | curl | integration |"));
}

TEST(ReportMarkdown, LinksOnlyToTheWeb) {
  Report report = samples::sample_report();
  report.links = {{.name = "job", .address = "https://ci.example.org/run?a=1&b=2"},
                  {.name = "commit", .address = "javascript:alert(1)"},
                  {.name = "x", .address = "https://a.example/)<b>"}};
  const std::string text = markdown_of(report);
  EXPECT_THAT(text, HasSubstr("(<https://ci.example.org/run?a=1&amp;b=2>)"));
  EXPECT_THAT(text, Not(HasSubstr("javascript")));
  EXPECT_THAT(text, Not(HasSubstr("a.example")));
}

TEST(ReportMarkdown, SaysWhatHasChanged) {
  Report report = samples::sample_report();
  report.comparison = ReportChanges{.folder = "old", .revision = "4c1f0e2", .steps = {}};
  EXPECT_THAT(markdown_of(report),
              HasSubstr("## Compared with `4c1f0e2`\n\n- no step has changed"));
  report.comparison->steps = {
      {.id = "unit-tests",
       .before = "pass",
       .now = "fail",
       .appeared = {"connect 192.0.2.1:9/udp by curl"},
       .disappeared = {}},
      {.id = "gone", .before = "pass", .now = "", .appeared = {}, .disappeared = {}}};
  EXPECT_THAT(markdown_of(report),
              HasSubstr("- 1 step that passed does not pass now: unit-tests\n"
                        "- 1 step has breaches that are new: unit-tests\n"
                        "- 1 step is not there any more: gone\n"
                        "- new: `unit-tests` `connect 192.0.2.1:9/udp by curl`\n"));
}

TEST(ReportMarkdown, InputsWithoutFilesAreOneLine) {
  Report report = samples::sample_report();
  nlohmann::json& inputs = report.steps[0].manifest->stable["inputs"];
  for (const char* path : {"/bin", "/lib", "/sbin"})
    inputs.push_back({{"path", path},
                      {"measure", "programs"},
                      {"digest", "sha256:0"},
                      {"files", 0U},
                      {"size", 0U}});
  EXPECT_THAT(markdown_of(report),
              HasSubstr("No program was executed of: `/bin`, `/lib`, `/sbin`\n"));
}

TEST(ReportMarkdown, SaysWhenTheRecordHasHoles) {
  Report report = samples::sample_report();
  EXPECT_THAT(markdown_of(report), HasSubstr("no event was lost"));
  for (ReportStep& step : report.steps)
    if (step.run) step.run->lost_events = 3;
  EXPECT_THAT(markdown_of(report), Not(HasSubstr("no event was lost")));
  EXPECT_THAT(markdown_of(report), HasSubstr("events were lost"));
}

TEST(ReportMarkdown, OneLineStaysOneLine) {
  Report report = samples::sample_report();
  report.steps = {report.steps[2]};
  report.steps[0].id = "a\n# b";
  report.steps[0].reason = "c\r\nd | e";
  EXPECT_THAT(markdown_of(report),
              HasSubstr("| `a\\n# b` | – skipped | – | c\\\\x0d\\\\nd \\| e |\n"));
}

TEST(ReportMarkdown, IsUtf8WithoutControlCharactersWhateverComesIn) {
  const auto summary_of_all = [](const Report& report) {
    return report_as_summary(report, kNothing);
  };
  const std::array<std::function<std::string(const Report&)>, 4> forms = {
      markdown_of, summary_of_all, report_as_sarif, report_as_junit};
  for (const auto& form : forms) {
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
  const std::string text = markdown_of(report);
  EXPECT_LT(text.size(), std::size_t{1} << 20U);
  EXPECT_THAT(text, HasSubstr("- and 9950 more\n"));
}

TEST(ReportMarkdown, TheSummaryOfManyStepsIsShort) {
  Report report = samples::sample_report();
  const ReportStep passed = report.steps[0];
  ReportStep failed = report.steps[1];
  failed.last_lines.assign(10, std::string(400, 'x'));
  for (int i = 0; i < 47; ++i) report.steps.push_back(passed);
  EXPECT_LT(report_as_summary(report, kNothing).size(), 10'000U);
  EXPECT_THAT(report_as_summary(report, kNothing),
              HasSubstr("<details><summary>48 steps passed</summary>\n\n| Step"));
  EXPECT_THAT(report_as_summary(report, kNothing), Not(HasSubstr("Evidence of")));
  for (int i = 0; i < 2'000; ++i) report.steps.push_back(failed);
  const std::string text = report_as_summary(report, kNothing);
  EXPECT_LT(text.size(), 80'000U);
  EXPECT_THAT(text, HasSubstr("which the report tells about"));
}

}  // namespace
}  // namespace hermetic
