#include "hermetic/spec/clause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace hermetic {
namespace {

using ::testing::MatchesRegex;

TEST(Clause, EachHasANameOfItsOwnAndAPromise) {
  std::set<std::string_view> names;
  for (const Clause clause : all_clauses()) {
    EXPECT_TRUE(names.insert(to_string(clause)).second) << to_string(clause);
    EXPECT_THAT(std::string(to_string(clause)), MatchesRegex("[a-z]+(-[a-z]+)*"));
    EXPECT_FALSE(promise_of(clause).empty());
    EXPECT_EQ(clause_named(to_string(clause)), clause);
  }
  EXPECT_EQ(names.size(), all_clauses().size());
  EXPECT_EQ(all_clauses().back(), Clause::NoExec) << "the last enumerator: none is left out";
}

TEST(Clause, ANameMustBeExact) {
  EXPECT_EQ(clause_named("no-networks"), std::nullopt);
  EXPECT_EQ(clause_named("NO-NETWORK"), std::nullopt);
  EXPECT_EQ(clause_named(""), std::nullopt);
}

TEST(Clause, ATypoIsGuessed) {
  EXPECT_EQ(clause_nearest_to("no-networks"), "no-network");
  EXPECT_EQ(clause_nearest_to("memory_limit"), "memory-limit");
  EXPECT_EQ(clause_nearest_to("teleport"), "");
}

}  // namespace
}  // namespace hermetic
