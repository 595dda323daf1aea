#include "hermetic/base/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string normal(std::string_view text) {
  const Result<std::string> path = normal_path(text);
  return path ? *path : "refused: " + path.error().message;
}

std::vector<std::string> components_of(std::string_view path) {
  std::vector<std::string> names;
  for (Components component(path); component.next();)
    names.push_back(std::string(component.prefix()) + "=" + std::string(component.name()));
  return names;
}

TEST(NormalPath, CutsWhatSaysNothing) {
  EXPECT_EQ(normal("/"), "/");
  EXPECT_EQ(normal("///"), "/");
  EXPECT_EQ(normal("/."), "/");
  EXPECT_EQ(normal("/a"), "/a");
  EXPECT_EQ(normal("//a///b/./c/"), "/a/b/c");
  EXPECT_EQ(normal("/a/..b/...//"), "/a/..b/...");
  EXPECT_EQ(normal("/caf\xc3\xa9"), "/caf\xc3\xa9");
}

TEST(NormalPath, RefusesWhatHasNoSingleMeaning) {
  EXPECT_THAT(normal(""), HasSubstr("empty path"));
  EXPECT_THAT(normal("a/b"), HasSubstr("relative path 'a/b'"));
  EXPECT_THAT(normal("./a"), HasSubstr("relative path"));
  EXPECT_THAT(normal("/a/../b"), HasSubstr("contains '..'"));
  EXPECT_THAT(normal("/.."), HasSubstr("contains '..'"));
  EXPECT_THAT(normal(std::string_view("/a\0b", 4)), HasSubstr("'/a\\x00b' contains a NUL byte"));
  EXPECT_THAT(normal("/a\xff"), HasSubstr("'/a\\xff' is not valid UTF-8"));
}

TEST(NormalPath, GivesARemedyForARelativePath) {
  EXPECT_THAT(normal_path("out").error().hint, HasSubstr("$here/out"));
}

TEST(NormalPath, KeepsToTheLimitsOfTheSystem) {
  const std::string longest_name(255, 'n');
  EXPECT_EQ(normal("/" + longest_name), "/" + longest_name);
  EXPECT_THAT(normal("/" + longest_name + "n"), HasSubstr("more than 255 bytes"));

  std::string longest_path;
  while (longest_path.size() < 4095) longest_path += "/n";
  longest_path.resize(4095);
  longest_path.back() = 'n';
  EXPECT_EQ(normal(longest_path), longest_path);
  EXPECT_THAT(normal(longest_path + "n"), HasSubstr("4096 bytes"));
  EXPECT_EQ(normal(longest_path + "/"), longest_path) << "only what is left counts";
}

TEST(NormalPath, ARefusalIsShorterThanWhatIsRefused) {
  EXPECT_LT(normal(std::string(1'000'000, 'x')).size(), 300U);
  EXPECT_THAT(normal(std::string(1'000'000, 'x')), HasSubstr("relative path 'xxx"));
}

TEST(Path, JoinsAndTakesApart) {
  EXPECT_EQ(join("/", "a"), "/a");
  EXPECT_EQ(join("/a", "b/c"), "/a/b/c");
  EXPECT_EQ(join("/a", ""), "/a");
  EXPECT_EQ(parent_of("/"), "/");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("/a/b"), "/a");
  EXPECT_EQ(last_component("/"), "");
  EXPECT_EQ(last_component("/a/b"), "b");
  EXPECT_EQ(relative_to("/a/b/c", "/a"), "b/c");
  EXPECT_EQ(relative_to("/a", "/"), "a");
  EXPECT_EQ(relative_to("/a", "/a"), "");
  EXPECT_EQ(relative_to("/", "/"), "");
}

TEST(Path, IsWithinATreeByComponentsNotByLetters) {
  EXPECT_TRUE(is_within("/a/b", "/a"));
  EXPECT_TRUE(is_within("/a", "/a"));
  EXPECT_TRUE(is_within("/a", "/"));
  EXPECT_TRUE(is_within("/", "/"));
  EXPECT_FALSE(is_within("/ab", "/a"));
  EXPECT_FALSE(is_within("/a", "/a/b"));
  EXPECT_FALSE(is_within("/", "/a"));
  EXPECT_TRUE(is_strictly_within("/a", "/"));
  EXPECT_FALSE(is_strictly_within("/", "/"));
  EXPECT_FALSE(is_strictly_within("/a", "/a"));
  EXPECT_FALSE(is_strictly_within("/ab", "/a"));
}

TEST(ComparePaths, KeepsATreeTogetherWithItsParentFirst) {
  std::vector<std::string> paths = {"/a-b", "/a/b", "/b", "/a", "/a!", "/", "/a/b/c", "/a0"};
  std::sort(paths.begin(), paths.end(), PathOrder{});
  EXPECT_THAT(paths, ElementsAre("/", "/a", "/a/b", "/a/b/c", "/a!", "/a-b", "/a0", "/b"));
  std::sort(paths.begin(), paths.end());
  EXPECT_NE(paths[2], "/a/b") << "the control: plain text order tears the tree apart";
}

TEST(ComparePaths, OrdersBytesAsUnsigned) {
  EXPECT_TRUE(compare_paths("/z", "/\xc3\xa9") < 0);
  EXPECT_TRUE(compare_paths("/\xc3\xa9", "/z") > 0);
  EXPECT_TRUE(compare_paths("/a", "/a") == 0);
}

TEST(Components, WalksFromTheRoot) {
  EXPECT_THAT(components_of("/"), ElementsAre());
  EXPECT_THAT(components_of("/a"), ElementsAre("/a=a"));
  EXPECT_THAT(components_of("/a/bc/d"), ElementsAre("/a=a", "/a/bc=bc", "/a/bc/d=d"));
}

TEST(PathDeathTest, ARelativePathNeedsItsTree) {
  EXPECT_DEATH((void)relative_to("/b", "/a"), "is_within");
}

}  // namespace
}  // namespace hermetic
