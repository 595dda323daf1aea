#include "hermetic/task/failure.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hermetic::task {
namespace {

Failure failure(Ending ending, bool violated = false, OnViolation policy = OnViolation::Report) {
  Outcome outcome;
  outcome.ending = std::move(ending);
  if (violated) outcome.violations.emplace_back();
  Plan plan;
  plan.on_violation = policy;
  return failure_of(plan, outcome);
}

TEST(Failures, AreToldFromTheEnding) {
  EXPECT_EQ(failure(Exited{0}), Failure::None);
  EXPECT_EQ(failure(Exited{1}), Failure::Command);
  EXPECT_EQ(failure(Exited{137}), Failure::Command) << "its words are not believed";
  EXPECT_EQ(failure(Signaled{9}), Failure::Signal);
  EXPECT_EQ(failure(TimedOut{}), Failure::Timeout);
  EXPECT_EQ(failure(TimedOut{.which = TimedOut::Which::IdleTime}), Failure::Timeout);
  EXPECT_EQ(failure(OverLimit{.which = "memory"}), Failure::OutOfMemory);
  EXPECT_EQ(failure(OverLimit{.which = "processes"}), Failure::Limit);
  EXPECT_EQ(failure(EndedByViolation{}), Failure::Violation);
  EXPECT_EQ(failure(NotStarted{2}), Failure::Command);
}

TEST(Failures, AreViolationsIfTheseAreToFail) {
  EXPECT_EQ(failure(Exited{0}, true), Failure::None);
  EXPECT_EQ(failure(Exited{0}, true, OnViolation::Fail), Failure::Violation);
  EXPECT_EQ(failure(Exited{1}, true, OnViolation::Fail), Failure::Violation);
  EXPECT_EQ(failure(TimedOut{}, true, OnViolation::Fail), Failure::Timeout);
}

TEST(Failures, HaveNames) {
  const std::vector<std::pair<Failure, std::string>> names = {
      {Failure::None, "none"},       {Failure::Command, "command"},
      {Failure::Timeout, "timeout"}, {Failure::OutOfMemory, "oom"},
      {Failure::Limit, "limit"},     {Failure::Violation, "violation"},
      {Failure::Signal, "signal"},   {Failure::Infra, "infra"}};
  for (const auto& [failure, name] : names) EXPECT_EQ(to_string(failure), name);
}

}  // namespace
}  // namespace hermetic::task
