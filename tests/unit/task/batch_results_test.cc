#include "hermetic/task/batch_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hermetic::task {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json whole() {
  return {{"attempts", 1},
          {"number", 3},
          {"task_id", "t"},
          {"digest", std::string(64, 'a')},
          {"failure", "none"},
          {"folder", "000003-t"},
          {"durations",
           {{"setup_ms", 1.5},
            {"checkout_ms", 1},
            {"environment_ms", 0.5},
            {"guard_ms", 1.001},
            {"command_ms", 2},
            {"cleanup_ms", 0}}}};
}

TEST(BatchResults, AreReadLineByLine) {
  json infra = whole();
  infra["failure"] = "infra";
  infra.erase("folder");
  const Result<std::vector<BatchResult>> results =
      parse_results(whole().dump() + "\n" + infra.dump() + "\n", "f");
  ASSERT_TRUE(results);
  ASSERT_EQ(results->size(), 2U);
  EXPECT_EQ(results->front().number, 3U);
  EXPECT_EQ(results->front().digest, std::string(64, 'a'));
  EXPECT_EQ(results->front().failure, Failure::None);
  EXPECT_EQ(results->front().folder, "000003-t");
  ASSERT_TRUE(results->front().durations);
  EXPECT_EQ(results->front().durations->setup, std::chrono::microseconds(1500));
  // To the nanosecond, though no double says so.
  EXPECT_EQ(results->front().durations->guard, std::chrono::nanoseconds(1001000));
  EXPECT_EQ(results->back().failure, Failure::Infra);
  EXPECT_EQ(results->back().folder, "");
}

TEST(BatchResults, MayEndInTheMiddleOfALine) {
  const std::string line = whole().dump();
  for (std::size_t size = 0; size <= line.size(); ++size) {
    const Result<std::vector<BatchResult>> results =
        parse_results(line + "\n" + line.substr(0, size), "f");
    ASSERT_TRUE(results) << size;
    // Whole is whole, with or without the end of the line.
    EXPECT_EQ(results->size(), size == line.size() ? 2U : 1U) << size;
  }
}

TEST(BatchResults, AreNothingElse) {
  const auto refused = [](const std::string& text) {
    const Result<std::vector<BatchResult>> results = parse_results(text, "f");
    return results ? "" : to_string(results.error());
  };
  EXPECT_THAT(refused(whole().dump() + "\nmine\n"), HasSubstr("f:2:1: the line is no result"));
  EXPECT_THAT(refused("mine"), HasSubstr("f:1:1: "));
  EXPECT_THAT(refused("\n"), HasSubstr("f:1:1: "));
  for (const auto& [key, value] : std::vector<std::pair<std::string, json>>{{"digest", 5},
                                                                            {"digest", "a"},
                                                                            {"number", "1"},
                                                                            {"number", -1},
                                                                            {"number", 1.5},
                                                                            {"failure", 0},
                                                                            {"failure", "some"},
                                                                            {"task_id", nullptr},
                                                                            {"folder", "../x"},
                                                                            {"folder", json({})},
                                                                            {"folder", ""}}) {
    json line = whole();
    line[key] = value;
    EXPECT_THAT(refused(line.dump() + "\n"), HasSubstr("f:1:1: ")) << line;
  }
}

}  // namespace
}  // namespace hermetic::task
