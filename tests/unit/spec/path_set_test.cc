#include "hermetic/spec/path_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/spec/property.h"
#include "tests/unit/spec/universe.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using Boundary = PathSet::Boundary;
using Members = Universe::Members;

// A set and, made from the same numbers but by the definition, what must be in it.
struct Sample {
  PathSet set;
  Members members;
};

// A tree with up to three exceptions anywhere: inside the root, beside it, at it or above it.
Sample tree_sample(std::uint32_t number) {
  const Universe& universe = Universe::get();
  const std::size_t root = number % Universe::kSize;
  number /= Universe::kSize;
  std::vector<std::size_t> exceptions;
  std::vector<std::string> names;
  for (std::uint32_t left = number % 4; left > 0; --left) {
    number = number / 4 * 2654435761U + left;
    exceptions.push_back(number % Universe::kSize);
    names.push_back(universe.path(exceptions.back()));
  }
  return {PathSet::tree(universe.path(root), names), universe.tree(root, exceptions)};
}

// Trees put together by union, intersection and difference.
Sample draw_sample(int most_trees = 6) {
  Sample sample;
  for (const std::uint32_t number : draw_numbers(most_trees)) {
    const Sample tree = tree_sample(number / 4);
    switch (number % 4) {
      case 2: sample = {sample.set & tree.set, sample.members & tree.members}; break;
      case 3: sample = {sample.set - tree.set, sample.members & ~tree.members}; break;
      default: sample = {sample.set | tree.set, sample.members | tree.members}; break;
    }
  }
  return sample;
}

Members members_of(const PathSet& set) {
  Members members;
  for (std::size_t i = 0; i < Universe::kSize; ++i)
    members[i] = set.contains(Universe::get().path(i));
  return members;
}

PathSet tree(std::string_view root, std::vector<std::string> exceptions = {}) {
  return PathSet::tree(root, exceptions);
}

TEST(PathSet, IsATreeLessItsExceptions) {
  const PathSet set = tree("/w", {"/w/out", "/w/tmp"});
  EXPECT_TRUE(set.contains("/w"));
  EXPECT_TRUE(set.contains("/w/a/b"));
  EXPECT_TRUE(set.contains("/w/out-of-date")) << "an exception is a component, not a prefix";
  EXPECT_FALSE(set.contains("/w/out"));
  EXPECT_FALSE(set.contains("/w/out/deep"));
  EXPECT_FALSE(set.contains("/"));
  EXPECT_FALSE(set.contains("/wide"));
}

TEST(PathSet, HasNothingLeftBelowAnExceptionAtOrAboveTheRoot) {
  EXPECT_TRUE(tree("/w", {"/w"}).empty());
  EXPECT_TRUE(tree("/w", {"/"}).empty());
  EXPECT_FALSE(tree("/w", {"/v"}).empty());
}

TEST(PathSet, HoldsOnlyTheBoundariesThatMatter) {
  EXPECT_THAT(tree("/w", {"/w/b", "/w/a", "/w/a/x", "/v", "/w/a"}).boundaries(),
              ElementsAre(Boundary{"/w", true}, Boundary{"/w/a", false}, Boundary{"/w/b", false}));
  EXPECT_EQ(tree("/w", {"/w/out"}) | tree("/w/out"), tree("/w"));
  EXPECT_EQ(tree("/w") | tree("/w/a"), tree("/w"));
  EXPECT_NE(tree("/w", {"/w/out"}) | tree("/w/out/a"), tree("/w"));
}

TEST(PathSet, FirstWitnessIsTheFirstPath) {
  EXPECT_EQ(tree("/w").witness(), "/w");
  EXPECT_EQ((tree("/b") | tree("/a!") | tree("/a/b")).witness(), "/a/b");
  EXPECT_EQ((tree("/w") - tree("/")).witness(), std::nullopt);
  EXPECT_EQ((tree("/") - tree("/w")).witness(), "/");
}

TEST(PathSet, UnionOfNothingIsEmpty) { EXPECT_TRUE(PathSet::union_of({}).empty()); }

TEST(PathSetProperty, MembershipFollowsTheDefinition) {
  check_property(25'000, [] {
    const Sample sample = draw_sample();
    RC_ASSERT(members_of(sample.set) == sample.members);
  });
}

TEST(PathSetProperty, SetsAreEqualExactlyIfTheirMembersAre) {
  check_property(25'000, [] {
    const Sample a = draw_sample(2);
    const Sample b = draw_sample(2);
    RC_ASSERT((a.set == b.set) == (a.members == b.members));
    // The same sets by other ways.
    const PathSet all = PathSet::tree("/");
    RC_ASSERT((a.set & b.set) == a.set - (a.set - b.set));
    RC_ASSERT(all - (a.set | b.set) == ((all - a.set) & (all - b.set)));
    RC_ASSERT((a.set | b.set) == (b.set | a.set));
    RC_ASSERT(((a.set - b.set) | (a.set & b.set)) == a.set);
  });
}

TEST(PathSetProperty, WitnessExistsExactlyInSetsThatAreNotEmptyAndIsInThem) {
  check_property(20'000, [] {
    const Sample sample = draw_sample();
    const auto witness = sample.set.witness();
    RC_ASSERT(witness.has_value() == sample.members.any());
    RC_ASSERT(sample.set.empty() == sample.members.none());
    if (!witness) return;
    RC_ASSERT(sample.set.contains(*witness));
    for (std::size_t i = 0; i < Universe::kSize; ++i)
      RC_ASSERT(!sample.members[i] || !PathOrder{}(Universe::get().path(i), *witness));
  });
}

TEST(PathSetProperty, UnionOfManyIsTheUnionOneByOne) {
  check_property(20'000, [] {
    std::vector<PathSet> sets;
    PathSet folded;
    Members members;
    for (const std::uint32_t number : draw_numbers(8)) {
      // Not only plain trees: a set may come back below its own exceptions.
      Sample sample = tree_sample(number);
      if (number % 3 == 0) {
        const Sample inner = tree_sample(number / 7);
        sample = {sample.set | inner.set, sample.members | inner.members};
      }
      folded = folded | sample.set;
      members |= sample.members;
      sets.push_back(sample.set);
    }
    RC_ASSERT(PathSet::union_of(sets) == folded);
    RC_ASSERT(members_of(folded) == members);
  });
}

TEST(PathSetProperty, EachBoundaryChangesMembership) {
  check_property(10'000, [] {
    const Sample sample = draw_sample();
    for (std::size_t i = 0; i < sample.set.boundaries().size(); ++i) {
      const Boundary& boundary = sample.set.boundaries()[i];
      if (i > 0) RC_ASSERT(PathOrder{}(sample.set.boundaries()[i - 1].path, boundary.path));
      RC_ASSERT(sample.set.contains(boundary.path) == boundary.included);
      const bool above = boundary.path != "/" && sample.set.contains(parent_of(boundary.path));
      RC_ASSERT(above != boundary.included);
    }
  });
}

// The control of all of the above: a model that is wrong in one path of one tree is found.
TEST(PathSetProperty, TheModelWouldNoticeASingleWrongPath) {
  Sample sample = tree_sample(4);
  ASSERT_EQ(members_of(sample.set), sample.members);
  sample.members.flip(Universe::kSize - 1);
  EXPECT_NE(members_of(sample.set), sample.members);
}

}  // namespace
}  // namespace hermetic
