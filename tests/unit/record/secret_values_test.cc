#include "hermetic/record/secret_values.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hermetic {
namespace {

using Places = std::vector<std::pair<std::size_t, std::size_t>>;

Places places_of(const std::vector<std::string>& values, std::string_view text) {
  SecretValues secrets;
  for (const std::string& value : values) secrets.add(value, 0);
  secrets.complete();
  Places places;
  for (const SecretSpan& span : secrets.find(text)) places.emplace_back(span.begin, span.end);
  return places;
}

TEST(SecretValues, FindsOneInsideTheBeginningOfAnother) {
  EXPECT_EQ(places_of({"xabcdefy", "bcde"}, "xabcdefz"), (Places{{2, 6}}));
}

TEST(SecretValues, FindsTheLongestThatEndsAtEachPlace) {
  EXPECT_EQ(places_of({"aaaa", "aaaaaa"}, "aaaaaaa"), (Places{{0, 4}, {1, 5}, {0, 6}, {1, 7}}));
}

TEST(SecretValues, FindsWhatOverlaps) {
  EXPECT_EQ(places_of({"abcd", "cdef"}, "abcdef"), (Places{{0, 4}, {2, 6}}));
}

TEST(SecretValues, FindsWhatWasCutAtTheEnd) {
  const std::string value = "0123456789abcdef";
  EXPECT_EQ(places_of({value}, "x" + value.substr(0, SecretValues::kShortestCut)),
            (Places{{1, 13}}));
  EXPECT_EQ(places_of({value}, "x" + value.substr(0, SecretValues::kShortestCut) + "…"),
            places_of({value}, "x" + value.substr(0, SecretValues::kShortestCut)))
      << "whoever cuts it says so";
  EXPECT_EQ(places_of({value}, "x" + value.substr(0, SecretValues::kShortestCut) + "…, y"),
            (Places{{1, 13}}))
      << "and another may come after it";
  EXPECT_EQ(places_of({value}, value.substr(0, SecretValues::kShortestCut - 1)), Places{});
}

TEST(SecretValues, FindsNothingWithoutValues) {
  EXPECT_EQ(places_of({}, "abc"), Places{});
  EXPECT_EQ(places_of({""}, "abc"), Places{});
}

}  // namespace
}  // namespace hermetic
