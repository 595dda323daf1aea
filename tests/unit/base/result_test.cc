#include "hermetic/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace hermetic {
namespace {

Result<int> parse(bool good) {
  if (!good) return invalid("no number");
  return 7;
}

Result<std::string> twice(bool good) {
  const int number = TRY(parse(good));
  return std::to_string(2 * number);
}

Result<void> check(bool good) {
  if (!good) return invalid("no number");
  return {};
}

Result<void> count_if(bool good, int* reached) {
  TRY(check(good));
  ++*reached;
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> value = parse(true);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 7);
  const Result<int> error = parse(false);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().message, "no number");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(1);
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 1);
}

TEST(Try, UnwrapsOrReturnsTheError) {
  EXPECT_EQ(*twice(true), "14");
  EXPECT_EQ(twice(false).error().message, "no number");
}

TEST(Try, LeavesAVoidFunctionOnlyOnAnError) {
  int reached = 0;
  EXPECT_TRUE(count_if(true, &reached).has_value());
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(count_if(false, &reached).error().message, "no number");
  EXPECT_EQ(reached, 1);
}

TEST(ResultDeathTest, TakingWhatIsNotThereIsABug) {
  EXPECT_DEATH((void)parse(false).value(),
               "nobody asked whether this failed, and it did: no number");
  EXPECT_DEATH((void)parse(true).error(), "has_value");
  EXPECT_DEATH((void)Result<void>().error(), "has_value");
}

}  // namespace
}  // namespace hermetic
