#include "hermetic/spec/path_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unit/spec/property.h"
#include "tests/unit/spec/universe.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;

std::vector<int> values_above(const PathMap<int>& map, std::string_view path) {
  std::vector<int> values;
  map.for_each_above(path, [&](int value) { values.push_back(value); });
  return values;
}

TEST(PathMap, FindsTheNearestValueAbove) {
  PathMap<int> map;
  map.set("/a", 1);
  map.set("/a/b/c", 2);
  EXPECT_EQ(map.nearest("/"), std::nullopt);
  EXPECT_EQ(map.nearest("/b"), std::nullopt);
  EXPECT_EQ(map.nearest("/ab"), std::nullopt);
  EXPECT_EQ(*map.nearest("/a/b")->value, 1);
  EXPECT_EQ(map.nearest("/a/b")->path, "/a");
  EXPECT_EQ(*map.nearest("/a/b/c/d/e")->value, 2);
  EXPECT_EQ(map.nearest("/a/b/c/d/e")->path, "/a/b/c");
}

TEST(PathMap, HoldsAValueAtTheRoot) {
  PathMap<int> map;
  map.set("/", 7);
  EXPECT_EQ(*map.nearest("/x/y")->value, 7);
  EXPECT_EQ(map.nearest("/x/y")->path, "/");
  EXPECT_EQ(*map.find("/"), 7);
  EXPECT_FALSE(map.has_below("/"));
}

TEST(PathMap, ReplacesAValue) {
  PathMap<int> map;
  map.set("/a", 1);
  map.set("/a", 2);
  EXPECT_EQ(map.size(), 1U);
  EXPECT_EQ(*map.find("/a"), 2);
}

TEST(PathMap, VisitsFromTheRootDown) {
  PathMap<int> map;
  map.set("/a/b", 3);
  map.set("/", 1);
  map.set("/a", 2);
  map.set("/b", 9);
  EXPECT_THAT(values_above(map, "/a/b/c"), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_above(map, "/c"), ElementsAre(1));
}

TEST(PathMap, KeepsItsValuesWhenItIsCopied) {
  PathMap<int> map;
  map.set("/a", 1);
  const PathMap<int> copy = map;
  map.set("/a", 2);
  EXPECT_EQ(*copy.find("/a"), 1);
}

// The map against a plain one that looks at every entry.
TEST(PathMapProperty, AnswersLikeASearchOfAllEntries) {
  check_property(20'000, [] {
    const Universe& universe = Universe::get();
    PathMap<std::uint32_t> map;
    std::map<std::string, std::uint32_t> model;
    for (const std::uint32_t number : draw_numbers(8)) {
      map.set(universe.path(number), number);
      model[universe.path(number)] = number;
    }
    RC_ASSERT(map.size() == model.size());
    for (const std::string& path : universe.paths()) {
      const std::uint32_t* exact = nullptr;
      std::vector<std::uint32_t> above;
      bool below = false;
      for (const auto& [other, value] : model) {  // text order has a path's ancestors by length
        if (other == path) exact = &value;
        if (is_within(path, other)) above.push_back(value);
        below = below || is_strictly_within(other, path);
      }
      RC_ASSERT((map.find(path) == nullptr) == (exact == nullptr));
      if (exact != nullptr) RC_ASSERT(*map.find(path) == *exact);
      RC_ASSERT(map.has_below(path) == below);
      const auto hit = map.nearest(path);
      RC_ASSERT(hit.has_value() == !above.empty());
      if (hit) RC_ASSERT(*hit->value == above.back());
      std::vector<std::uint32_t> visited;
      map.for_each_above(path, [&](std::uint32_t value) { visited.push_back(value); });
      RC_ASSERT(visited == above);
    }
  });
}

}  // namespace
}  // namespace hermetic
