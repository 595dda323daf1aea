#include <gtest/gtest.h>

#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "hermetic/record/report.h"
#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

using nlohmann::json;

json results_of(const Report& report) {
  return json::parse(report_as_sarif(report))["runs"][0]["results"];
}

const json& place_of(const json& result) { return result["locations"][0]["physicalLocation"]; }

TEST(ReportSarif, EveryBreachStandsAtItsStep) {
  const json results = results_of(samples::sample_report());
  ASSERT_EQ(results.size(), 4U);  // three breaches and a step that was skipped
  const json& listener = results[0];
  EXPECT_EQ(listener["ruleId"], "listener");
  EXPECT_EQ(listener["message"]["text"],
            "integration: listening on 0.0.0.0:8080/tcp was denied, by /usr/bin/python3.11 -m "
            "pytest tests/integration.");
  EXPECT_EQ(place_of(listener)["artifactLocation"]["uri"], "docs/ci/policy.yml");
  EXPECT_EQ(place_of(listener)["region"]["startLine"], 14);
  EXPECT_EQ(listener["properties"]["chain"].size(), 2U);
  EXPECT_EQ(results[3]["ruleId"], "step-skipped");
  EXPECT_EQ(place_of(results[3])["region"]["startLine"], 31);
}

TEST(ReportSarif, RulesAreFoundByTheirIndex) {
  const json run = json::parse(report_as_sarif(samples::hostile_report()))["runs"][0];
  const json& rules = run["tool"]["driver"]["rules"];
  for (const json& result : run["results"]) {
    const std::size_t index = result["ruleIndex"].get<std::size_t>();
    ASSERT_LT(index, rules.size());
    EXPECT_EQ(rules[index]["id"], result["ruleId"]);
  }
}

TEST(ReportSarif, AStepThatFailsWithoutABreachIsAResult) {
  Report report = samples::sample_report();
  report.steps.resize(1);
  EXPECT_TRUE(results_of(report).empty());
  report.steps[0].verdict = StepVerdict::Fail;
  EXPECT_EQ(results_of(report)[0]["ruleId"], "step-failed");
  EXPECT_EQ(results_of(report)[0]["message"]["text"], "unit-tests: The command of a step failed.");
  report.steps[0].verdict = StepVerdict::Error;
  report.steps[0].reason = "no sandbox";
  EXPECT_EQ(results_of(report)[0]["message"]["text"], "unit-tests: no sandbox.");
}

TEST(ReportSarif, PlacesAreAddressesOfFiles) {
  Report report = samples::sample_report();
  report.steps = {report.steps[2]};
  const auto uri_of = [&](const std::string& source) {
    report.steps[0].origin.source = source;
    return place_of(results_of(report)[0])["artifactLocation"]["uri"].get<std::string>();
  };
  EXPECT_EQ(uri_of("./a/b c.yml"), "a/b%20c.yml");
  EXPECT_EQ(uri_of("/a/b.yml"), "file:///a/b.yml");
  EXPECT_EQ(uri_of("a\xff%#?\n.yml"), "a%FF%25%23%3F%0A.yml");
  report.steps[0].origin = {.source = "--input"};  // no file: the policy, at its first line
  EXPECT_EQ(place_of(results_of(report)[0])["artifactLocation"]["uri"], "docs/ci/policy.yml");
  EXPECT_EQ(place_of(results_of(report)[0])["region"]["startLine"], 1);
  report.policy_file = "";
  EXPECT_TRUE(results_of(report)[0]["locations"].empty());
}

TEST(ReportSarif, FingerprintsTellResultsApartAndStayTheSame) {
  const json first = results_of(samples::hostile_report());
  const json second = results_of(samples::hostile_report());
  EXPECT_EQ(first, second);
  std::set<std::string> prints;
  for (const json& result : first)
    prints.insert(result["partialFingerprints"]["hermeticBreach/v1"].get<std::string>());
  EXPECT_EQ(prints.size(), first.size());
}

}  // namespace
}  // namespace hermetic
