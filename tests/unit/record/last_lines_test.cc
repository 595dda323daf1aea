#include "hermetic/record/last_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Redaction kWithToken{
    std::map<std::string, std::string>{{"API_TOKEN", "correct-horse-battery"}}};

std::string numbered(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST(LastLines, AreOfBothStreams) {
  EXPECT_THAT(last_lines_of("", "", kWithToken), IsEmpty());
  EXPECT_THAT(last_lines_of("out\n\n", "err", kWithToken), ElementsAre("out", "err"));
  EXPECT_THAT(last_lines_of(numbered(20), "a\nb\n", kWithToken),
              ElementsAre("13", "14", "15", "16", "17", "18", "19", "20", "a", "b"));
  EXPECT_THAT(last_lines_of(numbered(20), numbered(30), kWithToken),
              ElementsAre("16", "17", "18", "19", "20", "26", "27", "28", "29", "30"));
  EXPECT_EQ(last_lines_of("", numbered(100'000), kWithToken).size(), kLastLines);
}

TEST(LastLines, AreWithoutColoursAndProgress) {
  EXPECT_THAT(last_lines_of("\x1b[31mred\x1b[0m \x1b]0;title\x07text\n", "10 %\r50 %\rdone\r\n",
                            kWithToken),
              ElementsAre("red text", "done"));
  EXPECT_THAT(last_lines_of("a\tb\x01", "\x1b[", kWithToken), ElementsAre("a    b\\x01"));
}

TEST(LastLines, HaveNoSecretsNotEvenOneWithColoursInIt) {
  const std::string output =
      "token correct-\x1b[1mhorse\x1b[0m-battery\nthe \x1b]0;x\x07"
      "correct-horse-battery";
  for (const std::string& line : last_lines_of(output, output, kWithToken))
    EXPECT_THAT(line, Not(HasSubstr("horse")));
}

TEST(LastLines, AreShort) {
  const auto lines = last_lines_of(std::string(10'000'000, 'x'), "", kWithToken);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 500U);
}

}  // namespace
}  // namespace hermetic
