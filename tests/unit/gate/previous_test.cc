#include "hermetic/gate/previous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace hermetic::gate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Redaction kHidden{std::map<std::string, std::string>{{"API_TOKEN", "correct-horse-battery"}}};

class Previous : public ::testing::Test {
 protected:
  Previous() : folder_(::testing::TempDir() + "previous-XXXXXX") {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~Previous() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string folder_;
};

ReportStep reported(const std::string& id, StepVerdict verdict, std::vector<std::string> messages) {
  ReportStep step{.id = id, .verdict = verdict};
  step.run = RunRecord{};
  for (std::string& message : messages)
    step.breaches.push_back({.rule_id = "x", .message = std::move(message)});
  return step;
}

TEST_F(Previous, IsComparedStepByStep) {
  write("report.json", R"({"type": "hermetic.gate", "revision": "abc", "steps": [
    {"id": "a", "verdict": "pass", "breaches": []},
    {"id": "b", "verdict": "fail", "breaches": [{"brief": "connect x by y"}, {"message": "m", "processes": ["/bin/z q"]}]},
    {"id": "gone", "verdict": "pass", "breaches": []}]})");
  write("volatile.json", R"({"steps": {"a": {"wall_us": 2000000}}})");
  const Result<PreviousGate> previous = read_previous_gate(folder_, kHidden);
  ASSERT_TRUE(previous) << to_string(previous.error());
  Report report;
  report.steps = {reported("a", StepVerdict::Fail, {"new one"}),
                  reported("b", StepVerdict::Fail, {"connect x by y"}),
                  reported("c", StepVerdict::Pass, {})};
  const ReportChanges changes = changes_since(*previous, report, true);
  EXPECT_EQ(changes.revision, "abc");
  ASSERT_EQ(changes.steps.size(), 4U);
  EXPECT_EQ(changes.steps[0].before, "pass");
  EXPECT_EQ(changes.steps[0].now, "fail");
  EXPECT_THAT(changes.steps[0].appeared, ElementsAre("new one"));
  EXPECT_EQ(changes.steps[0].took_before, std::chrono::seconds(2));
  EXPECT_THAT(changes.steps[1].appeared, IsEmpty());
  EXPECT_THAT(changes.steps[1].disappeared, ElementsAre("m by z"));
  EXPECT_EQ(changes.steps[2].before, "");
  EXPECT_EQ(changes.steps[3].id, "gone");
  EXPECT_EQ(changes.steps[3].now, "");
  EXPECT_EQ(changes_since(*previous, report, false).steps.size(), 3U);
}

TEST_F(Previous, MayBeFromAnybody) {
  EXPECT_FALSE(read_previous_gate(folder_, kHidden));
  for (const char* text : {"", "[]", "{}", "{\"type\": \"hermetic.gate\"}",
                           "{\"type\": \"hermetic.gate\", \"steps\": {}}",
                           "{\"type\": \"hermetic.run\", \"steps\": []}"}) {
    write("report.json", text);
    EXPECT_FALSE(read_previous_gate(folder_, kHidden)) << text;
  }
  write(
      "report.json",
      R"({"type": "hermetic.gate", "revision": 7, "steps": [7, {"id": [], "breaches": [7, {"brief": {}}]},
    {"id": "\u001b[31m", "verdict": "the correct-horse-battery", "breaches": {}}]})");
  write("volatile.json", R"({"steps": {"": {"wall_us": -1}, "a": 3}})");
  const Result<PreviousGate> previous = read_previous_gate(folder_, kHidden);
  ASSERT_TRUE(previous) << to_string(previous.error());
  EXPECT_EQ(previous->revision, "");
  EXPECT_TRUE(previous->steps.contains("\\x1b[31m"));
  EXPECT_THAT(previous->steps.at("\\x1b[31m").verdict, HasSubstr("[redacted:API_TOKEN]"));
}

}  // namespace
}  // namespace hermetic::gate
