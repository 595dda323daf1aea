#include "hermetic/base/text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

namespace hermetic {
namespace {

using std::string_view_literals::operator""sv;

TEST(IsUtf8, AcceptsWellFormedText) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("\0"sv));
  EXPECT_TRUE(is_utf8("\xc2\x80"));          // U+0080, the first of two bytes
  EXPECT_TRUE(is_utf8("\xe0\xa0\x80"));      // U+0800, the first of three
  EXPECT_TRUE(is_utf8("\xed\x9f\xbf"));      // U+D7FF, before the surrogates
  EXPECT_TRUE(is_utf8("\xf0\x90\x80\x80"));  // U+10000, the first of four
  EXPECT_TRUE(is_utf8("\xf4\x8f\xbf\xbf"));  // U+10FFFF, the last
}

TEST(IsUtf8, RefusesWhatRfc3629Refuses) {
  EXPECT_FALSE(is_utf8("\x80")) << "a tail without a lead";
  EXPECT_FALSE(is_utf8("\xc3")) << "a lead without its tail";
  EXPECT_FALSE(is_utf8("\xc3z"));
  EXPECT_FALSE(is_utf8("\xe2\x82")) << "cut short";
  EXPECT_FALSE(is_utf8("\xc0\xaf")) << "overlong '/'";
  EXPECT_FALSE(is_utf8("\xe0\x80\xaf")) << "overlong '/'";
  EXPECT_FALSE(is_utf8("\xf0\x80\x80\xaf")) << "overlong '/'";
  EXPECT_FALSE(is_utf8("\xed\xa0\x80")) << "a surrogate";
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80")) << "above U+10FFFF";
  EXPECT_FALSE(is_utf8("\xff"));
}

TEST(Printable, LeavesTextAloneThatATerminalOnlyShows) {
  EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x82\xac '\\'"), "caf\xc3\xa9 \xe2\x82\xac '\\'");
}

TEST(Printable, WritesOutWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\x0dd");
  EXPECT_EQ(printable("\0"sv), "\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "U+009B is an escape sequence of its own";
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0") << "the control: U+00A0 is a blank";
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gpj"),
            "\\xe2\\x80\\xaegpj")
      << "U+202E turns text around";
  EXPECT_EQ(printable("\xe2\x81\xa6"), "\\xe2\\x81\\xa6") << "U+2066 as well";
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8") << "U+2028 breaks a line";
  EXPECT_EQ(printable("\xe2\x80\xa7\xe2\x80\xaf"), "\xe2\x80\xa7\xe2\x80\xaf")
      << "the control: U+2027 is a point and U+202F a blank";
}

TEST(Closest, GuessesATypo) {
  constexpr std::array kWords = {"inputs"sv, "outputs"sv, "temps"sv};
  EXPECT_EQ(closest("inptus", kWords), "inputs");
  EXPECT_EQ(closest("input", kWords), "inputs");
  EXPECT_EQ(closest("outputs", kWords), "outputs");
}

TEST(Closest, DoesNotGuessWildly) {
  constexpr std::array kWords = {"inputs"sv, "outputs"sv};
  EXPECT_EQ(closest("network", kWords), "");
  EXPECT_EQ(closest("", kWords), "");
  EXPECT_EQ(closest(std::string(10'000, 'i'), kWords), "");
  EXPECT_EQ(closest("inputs", {}), "");
}

}  // namespace
}  // namespace hermetic
