#include "hermetic/spec/placed_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hermetic {
namespace {

using ::testing::HasSubstr;

TEST(ParsePlacedPath, TakesAPathOfTheHostAndAPlace) {
  EXPECT_EQ(parse_placed_path("/home/u/src").value(), (PlacedPath{"/home/u/src", ""}));
  EXPECT_EQ(parse_placed_path("src:/w").value(), (PlacedPath{"src", "/w"}));
  EXPECT_EQ(parse_placed_path("/a:/w//b/./c/").value(), (PlacedPath{"/a", "/w/b/c"}));
}

TEST(ParsePlacedPath, EscapesColonsAndBackslashes) {
  EXPECT_EQ(parse_placed_path(R"(/a\:b)").value(), (PlacedPath{"/a:b", ""}));
  EXPECT_EQ(parse_placed_path(R"(/a\:b:/w\:c)").value(), (PlacedPath{"/a:b", "/w:c"}));
  EXPECT_EQ(parse_placed_path(R"(/a\\:/w)").value(), (PlacedPath{R"(/a\)", "/w"}));
  EXPECT_EQ(parse_placed_path(R"(/a\b\)").value(), (PlacedPath{R"(/a\b\)", ""}));
}

TEST(ParsePlacedPath, RefusesHalvesAndMore) {
  const auto message = [](std::string_view text) {
    const Result<PlacedPath> placed = parse_placed_path(text);
    return placed ? "accepted" : to_string(placed.error());
  };
  EXPECT_THAT(message("/a:/w:ro"), HasSubstr("more than one colon"));
  EXPECT_THAT(message(":/w"), HasSubstr("one half"));
  EXPECT_THAT(message("/a:"), HasSubstr("one half"));
  EXPECT_THAT(message("/a:w"), HasSubstr("relative place"));
  EXPECT_THAT(message("/a:/w/../x"), HasSubstr(".."));
  EXPECT_THAT(message("/a:w"), HasSubstr("hint: write PATH:AT"));
}

TEST(AsRoot, IsAnInputOrACopy) {
  const Declaration input = as_root({.path = "/srv/image"});
  EXPECT_EQ(input.path, "/srv/image");
  EXPECT_EQ(input.at, "/");
  const Declaration copy = as_root({.kind = TreeKind::Temp, .path = "/srv/image"});
  EXPECT_EQ(copy.path, "/");
  EXPECT_EQ(copy.over, std::vector<std::string>{"/srv/image"});
}

}  // namespace
}  // namespace hermetic
