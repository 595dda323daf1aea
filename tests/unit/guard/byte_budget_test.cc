#include "hermetic/guard/byte_budget.h"

#include <gtest/gtest.h>

namespace hermetic::guard {
namespace {

TEST(ByteBudget, LetsAStreamHaveWhatIsLeftAndNoMore) {
  ByteBudget budget(100);
  EXPECT_EQ(budget.part_of(60), 60U);
  budget.passed(60);
  EXPECT_EQ(budget.part_of(60), 40U);
  budget.passed(40);
  EXPECT_EQ(budget.counted(), 100U) << "all of it, and not over it";
  EXPECT_EQ(budget.part_of(7), 0U);
  EXPECT_EQ(budget.counted(), 107U);
}

TEST(ByteBudget, LetsAMessageGoAsAWholeOrNotAtAll) {
  ByteBudget budget(100);
  EXPECT_TRUE(budget.take(100));
  EXPECT_EQ(budget.counted(), 100U);
  EXPECT_FALSE(budget.take(1));
  EXPECT_GT(budget.counted(), 100U);
  ByteBudget small(10);
  EXPECT_FALSE(small.take(11));
  EXPECT_FALSE(small.take(1)) << "it is over";
}

TEST(ByteBudget, CountsWhatIsWantedBeyondItOnce) {
  ByteBudget budget(0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(budget.part_of(50), 0U);
  EXPECT_FALSE(budget.take(50));
  EXPECT_EQ(budget.counted(), 50U);
}

TEST(ByteBudget, WithoutALimitCountsOnly) {
  ByteBudget budget;
  EXPECT_EQ(budget.part_of(std::size_t{1} << 40U), std::size_t{1} << 40U);
  budget.passed(std::size_t{1} << 40U);
  EXPECT_TRUE(budget.take(5));
  EXPECT_EQ(budget.counted(), (std::uint64_t{1} << 40U) + 5);
}

}  // namespace
}  // namespace hermetic::guard
