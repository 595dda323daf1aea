#include "hermetic/record/outcome_json.h"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace hermetic {
namespace {

TEST(OutcomeJson, RedactsWhatViolationsSay) {
  Plan plan;
  plan.environment = {{"A_TOKEN", "correct-horse"}, {"EDITOR", "battery-staple"}};
  Outcome outcome;
  outcome.violations.push_back({.act = "connect",
                                .subject = "https://me:pw@example.org/correct-horse",
                                .detail = "curl correct-horse battery-staple",
                                .rule = "correct-horse"});
  const auto document = nlohmann::json::parse(outcome_as_json(plan, outcome, 0));
  const auto& violation = document["violations"][0];
  EXPECT_EQ(violation["subject"], "https://me:[redacted]@example.org/[redacted:A_TOKEN]");
  EXPECT_EQ(violation["detail"], "curl [redacted:A_TOKEN] battery-staple");
  EXPECT_EQ(violation["rule"], "[redacted:A_TOKEN]");
}

}  // namespace
}  // namespace hermetic
