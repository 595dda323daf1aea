#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "hermetic/base/text.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_processes.h"
#include "hermetic/record/report_timeline.h"
#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Redaction kSecret{std::map<std::string, std::string>{{"API_TOKEN", "correct-horse-battery"}}};

std::size_t number_of(std::string_view needle, std::string_view text) {
  std::size_t number = 0;
  for (std::size_t at = text.find(needle); at != std::string_view::npos;
       at = text.find(needle, at + 1))
    ++number;
  return number;
}

TEST(ReportHtml, TellsEverything) {
  const std::string page = report_as_html(samples::sample_report(), kSecret);
  for (const char* part :
       {"<title>Fail: hermetic gate</title>", "1 of 3 steps passed, 1 failed, 1 was skipped",
        "network: none (docs/ci/policy.yml:14:7)", "/usr/bin/curl -sS --retry 2",
        "2025-10-09 08:53:20 UTC", "<svg ", "20 of 21 clauses enforced",
        "the kernel has no seccomp user notification", "<b>held</b>", "not tried",
        "files: not watched, because nobody asked for it", "482 tests passed",
        "sha256:3333333333333333", "sha256:1111111111111111", "46.0 MiB", "./run_tests --all"})
    EXPECT_THAT(page, HasSubstr(part));
}

TEST(ReportHtml, HoldsNoMarkupOfOthers) {
  const std::string page = report_as_html(samples::hostile_report(), kSecret);
  EXPECT_TRUE(is_utf8(page));
  EXPECT_EQ(number_of("<script", page), 1U);  // the one that copies
  EXPECT_EQ(number_of("<img", page), 0U);
  EXPECT_EQ(number_of("</style>", page), 1U);
  EXPECT_EQ(number_of("</body>", page), 1U);
  EXPECT_EQ(number_of("\x1b", page), 0U);
  EXPECT_EQ(number_of("\xe2\x80\xae", page), 0U);
  EXPECT_EQ(number_of("<section class=\"step", page), 24U);
}

TEST(ReportHtml, LoadsNothing) {
  const std::string page = report_as_html(samples::sample_report(), kSecret);
  EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src 'sha256-"));
  EXPECT_THAT(page, HasSubstr("; script-src 'sha256-"));
  for (const char* way : {" src=", "url(", "@import", "<link", "<iframe", " style=", "<script ",
                          "fetch(", "XMLHttpRequest", "import("})
    EXPECT_THAT(page, Not(HasSubstr(way)));
}

TEST(ReportHtml, ShowsFailedStepsFirstAndHowToAllowABreach) {
  Report report = samples::sample_report();
  report.steps[1].last_lines = {"E   a < b"};
  report.steps[1].breaches[0].remedy = "allow: {exceptions: [{listen: 8080}]}";
  report.steps[1].notes = {"'cc' is another program"};
  report.links = {{.name = "job", .address = "https://ci.example.org/1?a&b"},
                  {.name = "commit", .address = "javascript:alert(1)"}};
  const std::string page = report_as_html(report, kSecret);
  EXPECT_LT(page.find("id=\"step-2\""), page.find("id=\"step-1\""));
  for (const char* part :
       {"<code>allow: {exceptions: [{listen: 8080}]}</code> <button class=\"copy\"", "E   a &lt; b",
        "&#39;cc&#39; is another program", "href=\"https://ci.example.org/1?a&amp;b\"",
        "<td><code>192.0.2.1:443/tcp</code>", "<path class=\"bar\""})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page, Not(HasSubstr("javascript:")));
}

TEST(ReportHtml, WhatTheSpecGivesUpByItselfIsNotRed) {
  Report report = samples::sample_report();
  report.steps = {report.steps[0]};
  PlannedClause& planned = report.steps[0].run->plan.clauses[3];
  planned.strength = Strength::Absent;
  EXPECT_THAT(report_as_html(report, kSecret), HasSubstr("<span class=\"strength fail\">absent"));
  planned.given_up = true;
  const std::string page = report_as_html(report, kSecret);
  EXPECT_THAT(page, HasSubstr("<span class=\"strength skipped\">absent"));
  EXPECT_THAT(page, Not(HasSubstr("<span class=\"strength fail\">absent")));
}

TEST(ReportHtml, RedactsWhatIsNotYet) {
  Report report = samples::sample_report();
  ReportStep& step = report.steps[0];
  const std::string secret = "correct-horse-battery";
  step.reason = secret;
  step.description = secret;
  step.run->plan.command = {"x", secret};
  step.run->processes = {{.pid = 1, .executed = {"/" + secret, "/b"}, .arguments = {"b", secret}}};
  step.run->network = {samples::denied("connect", secret, {samples::process(1, "/" + secret, {})})};
  step.run->coverage = {{.detector = "files", .on = false, .why = secret}};
  step.run->plan.clauses[0].mechanism = secret;
  step.run->outcome.outputs[0].path = "/" + secret;
  step.standard_output = secret;
  step.last_lines = {secret};
  step.notes = {secret};
  step.verdict = StepVerdict::Fail;
  report.comparison = ReportChanges{
      .folder = "old",
      .revision = "",
      .steps = {
          {.id = "x", .before = "pass", .now = "fail", .appeared = {secret}, .disappeared = {}}}};
  EXPECT_THAT(report_as_html(report, kSecret), Not(HasSubstr(secret)));
}

TEST(ReportHtml, KeepsItsSize) {
  Report report = samples::sample_report();
  RunRecord& run = *report.steps[1].run;
  report.steps[1].breaches.assign(10'000, report.steps[1].breaches[0]);
  run.network.assign(10'000, run.network[0]);
  run.processes.assign(20'000, run.processes[0]);
  run.samples.assign(2'000, run.samples[5]);
  report.steps[1].standard_output = std::string(10'000'000, 'x');
  EXPECT_LT(report_as_html(report, kSecret).size(), std::size_t{2} << 20U);
}

TEST(ReportHtml, AProcessBelowTheOtherEndsSomewhere) {
  ProcessNode node{.pid = 1, .executed = {"/a"}, .arguments = {}};
  for (int depth = 0; depth < 2'000; ++depth)
    node = {.pid = 1, .executed = {"/a"}, .arguments = {}, .children = {std::move(node)}};
  const std::string list = processes_as_html({node}, kSecret);
  EXPECT_EQ(number_of("<details", list), number_of("</details>", list));
  EXPECT_LT(number_of("<details", list), 100U);
  EXPECT_THAT(list, HasSubstr("and what it started"));
}

TEST(ReportTimeline, DrawsWhatWasUsed) {
  const std::string figure = timeline_as_html(samples::usage_of_a_build(24));
  EXPECT_EQ(number_of("<svg ", figure), 3U);
  EXPECT_THAT(figure, HasSubstr("Processor over time, at most 195 %"));
  EXPECT_THAT(figure, HasSubstr("<span>24.0 s</span>"));
  EXPECT_EQ(timeline_as_html({}), "");
  EXPECT_EQ(timeline_as_html(std::vector<Usage>(5)), "");  // all at the same time
}

TEST(ReportTimeline, PeaksStayWhenPointsAreDropped) {
  std::vector<Usage> samples(2'000);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].wall_time = std::chrono::milliseconds(i);
    samples[i].memory_bytes = 1024;
  }
  samples[777].memory_bytes = 4096;
  const std::string figure = timeline_as_html(samples);
  EXPECT_THAT(figure, HasSubstr("Memory over time, at most 4.0 KiB"));
  EXPECT_THAT(figure, HasSubstr(" 2.0L"));   // the top of the drawing is reached
  EXPECT_THAT(figure, HasSubstr(" 45.5L"));  // by one, and a quarter of it by the others
  EXPECT_LT(figure.size(), 40'000U);
}

TEST(ReportTimeline, Durations) {
  using std::chrono::microseconds;
  EXPECT_EQ(duration_text(microseconds(850'000)), "850 ms");
  EXPECT_EQ(duration_text(microseconds(24'370'000)), "24.3 s");
  EXPECT_EQ(duration_text(microseconds(185'000'000)), "3 min 5 s");
  EXPECT_EQ(duration_text(microseconds(7'260'000'000)), "2 h 1 min");
}

}  // namespace
}  // namespace hermetic
