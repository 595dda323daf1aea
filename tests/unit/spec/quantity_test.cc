#include "hermetic/spec/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <string_view>

#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(ParseSize, ReadsPowersOf1024) {
  EXPECT_EQ(*parse_size("1"), 1U);
  EXPECT_EQ(*parse_size("512B"), 512U);
  EXPECT_EQ(*parse_size("4k"), 4096U);
  EXPECT_EQ(*parse_size("4K"), 4096U);
  EXPECT_EQ(*parse_size("64M"), std::uint64_t{64} << 20U);
  EXPECT_EQ(*parse_size("64MB"), std::uint64_t{64} << 20U);
  EXPECT_EQ(*parse_size("64MiB"), std::uint64_t{64} << 20U);
  EXPECT_EQ(*parse_size("4G"), std::uint64_t{4} << 30U);
  EXPECT_EQ(*parse_size("2T"), std::uint64_t{2} << 40U);
  EXPECT_EQ(*parse_size("4096P"), std::uint64_t{1} << 62U);
}

struct BadQuantity {
  std::string_view text;
  std::string_view why;
};

class BadSize : public ::testing::TestWithParam<BadQuantity> {};

TEST_P(BadSize, IsRefusedWithItsTextAReasonAndARemedy) {
  const Result<std::uint64_t> size = parse_size(GetParam().text);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().kind, Error::Kind::InvalidSpec);
  EXPECT_THAT(size.error().message, HasSubstr(std::string(GetParam().why)));
  EXPECT_FALSE(size.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSize,
    ::testing::Values(BadQuantity{"", "does not start with a number"},
                      BadQuantity{"G", "does not start with a number"},
                      BadQuantity{"-4G", "does not start with a number"},
                      BadQuantity{"+4G", "does not start with a number"},
                      BadQuantity{" 4G", "does not start with a number"},
                      BadQuantity{"4Q", "unknown unit"}, BadQuantity{"4E", "unknown unit"},
                      BadQuantity{"4 G", "unknown unit"}, BadQuantity{"4GG", "unknown unit"},
                      BadQuantity{"1.5G", "unknown unit"}, BadQuantity{"1e3", "unknown unit"},
                      BadQuantity{"0x10", "unknown unit"}, BadQuantity{"4Gi", "unknown unit"},
                      BadQuantity{"0", "is zero"}, BadQuantity{"0G", "is zero"},
                      BadQuantity{"4097P", "larger than 4 EiB"},
                      BadQuantity{"18446744073709551616", "larger than 4 EiB"},
                      BadQuantity{"18446744073709551615", "larger than 4 EiB"}));

TEST(ParseDuration, AddsItsParts) {
  EXPECT_EQ(*parse_duration("250ms"), 250ms);
  EXPECT_EQ(*parse_duration("90s"), 90s);
  EXPECT_EQ(*parse_duration("1h30m"), 90min);
  EXPECT_EQ(*parse_duration("1d2h3m4s5ms"), 24h + 2h + 3min + 4s + 5ms);
  EXPECT_EQ(*parse_duration("3650d"), 3650 * 24h);
}

class BadDuration : public ::testing::TestWithParam<BadQuantity> {};

TEST_P(BadDuration, IsRefusedWithItsTextAReasonAndARemedy) {
  const Result<std::chrono::milliseconds> duration = parse_duration(GetParam().text);
  ASSERT_FALSE(duration);
  EXPECT_EQ(duration.error().kind, Error::Kind::InvalidSpec);
  EXPECT_THAT(duration.error().message, HasSubstr(std::string(GetParam().why)));
  EXPECT_FALSE(duration.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDuration,
    ::testing::Values(BadQuantity{"", "is empty"}, BadQuantity{"h", "is not a duration"},
                      BadQuantity{"-1h", "is not a duration"}, BadQuantity{"60", "without a unit"},
                      BadQuantity{"1h30", "without a unit"}, BadQuantity{"1.5h", "without a unit"},
                      BadQuantity{"1w", "unknown, repeated or misplaced unit"},
                      BadQuantity{"1H", "without a unit"}, BadQuantity{"30m1h", "misplaced unit"},
                      BadQuantity{"1h1h", "repeated"}, BadQuantity{"0s", "is zero"},
                      BadQuantity{"0h0m", "is zero"}, BadQuantity{"3651d", "longer than ten years"},
                      BadQuantity{"3650d1ms", "longer than ten years"},
                      BadQuantity{"99999999999999999999s", "longer than ten years"},
                      BadQuantity{"18446744073709551615d", "longer than ten years"}));

TEST(ParseCount, TakesPlainDecimalNumbersOfItsRangeOnly) {
  EXPECT_EQ(*parse_count("1", 1, 10), 1U);
  EXPECT_EQ(*parse_count("10", 1, 10), 10U);
  EXPECT_EQ(*parse_count("0", 0, 10), 0U);
  for (const std::string_view text : {"", "0", "11", "-1", "+1", "1.0", "1e1", "0x1", " 1", "1 ",
                                      "01", "99999999999999999999", "one"}) {
    const Result<std::uint64_t> count = parse_count(text, 1, 10);
    ASSERT_FALSE(count) << text;
    EXPECT_EQ(count.error().hint, "write a whole number from 1 to 10") << text;
  }
}

TEST(FormatQuantity, PrintsTheShortestExactForm) {
  EXPECT_EQ(format_size(std::uint64_t{4} << 30U), "4G");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(1536), "1536");
  EXPECT_EQ(format_duration(5400s), "1h30m");
  EXPECT_EQ(format_duration(1ms), "1ms");
}

TEST(QuantityProperty, AFormattedSizeReadsBackAsItself) {
  check_property(1000, []() {
    const auto digits = *rc::gen::inRange<std::uint64_t>(1, 1 << 12);
    const auto shift = *rc::gen::inRange<unsigned>(0, 51);
    const std::uint64_t size = (digits << shift) | *rc::gen::element<std::uint64_t>(0, 1);
    const Result<std::uint64_t> back = parse_size(format_size(size));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == size);
  });
}

TEST(QuantityProperty, AFormattedDurationReadsBackAsItself) {
  check_property(1000, []() {
    const std::chrono::milliseconds duration(
        *rc::gen::inRange<std::int64_t>(1, 3650LL * 86'400'000 + 1));
    const Result<std::chrono::milliseconds> back = parse_duration(format_duration(duration));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == duration);
  });
}

TEST(QuantityProperty, NoTextMakesTheParsersCrash) {
  check_property(1000, [](const std::string& text) {
    (void)parse_size(text);
    (void)parse_duration(text);
    (void)parse_count(text, 0, 100);
  });
}

}  // namespace
}  // namespace hermetic
