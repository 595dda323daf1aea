#include "hermetic/guard/dns_message.h"

#include <gtest/gtest.h>

namespace hermetic::guard {
namespace {

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::uint8_t>(value));
  return bytes;
}

// A header with these counts, followed by `rest`.
Bytes message_of(int questions, int answers, int additional, std::initializer_list<int> rest) {
  Bytes bytes = bytes_of({0x12, 0x34, 0x81, 0x80, 0, questions, 0, answers, 0, 0, 0, additional});
  const Bytes more = bytes_of(rest);
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

DnsMessage everything() {
  DnsMessage message;
  message.id = 0xBEEF;
  message.is_response = true;
  message.operation = 5;
  message.is_authoritative = true;
  message.recursion_desired = true;
  message.recursion_available = true;
  message.code = ResponseCode::NoSuchName;
  message.questions.push_back({.name = "ExAmple.org", .type = kTypeAaaa});
  message.answers.push_back({.name = "example.org",
                             .type = kTypeAlias,
                             .time_to_live = 7,
                             .data = {},
                             .alias = "other.example"});
  message.answers.push_back({.name = "",
                             .type = 99,
                             .record_class = 3,
                             .time_to_live = UINT32_MAX,
                             .data = {1, 2, 3},
                             .alias = {}});
  message.largest_datagram = 1232;
  return message;
}

TEST(DnsMessage, WhatIsBuiltIsReadAgain) {
  const DnsMessage message = everything();
  EXPECT_EQ(parse_dns_message(build_dns_message(message)), message);
  EXPECT_EQ(parse_dns_message(build_dns_message(DnsMessage{})), DnsMessage{});
}

TEST(DnsMessage, EveryCutIsRefused) {
  const Bytes whole = build_dns_message(everything());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_dns_message(std::span(whole).first(size))) << size;
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(parse_dns_message(longer));
}

TEST(DnsMessage, EveryChangedByteIsReadOrRefused) {
  const Bytes whole = build_dns_message(everything());
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      Bytes changed = whole;
      changed[i] = static_cast<std::uint8_t>(value);
      const auto message = parse_dns_message(changed);
      if (!message) continue;
      EXPECT_EQ(parse_dns_message(build_dns_message(*message)), message);
    }
}

TEST(DnsMessage, FollowsPointersBackwards) {
  // a.b at 12; the answer's name is c and a pointer to it, its alias a pointer to "b" at 14.
  const auto message = parse_dns_message(
      message_of(1, 1, 0, {1, 'a', 1,    'b', 0, 0, 1, 0, 1,  // question
                           1, 'c', 0xC0, 12,  0, 5, 0, 1, 0, 0, 0, 9, 0, 2, 0xC0, 14}));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->questions[0].name, "a.b");
  EXPECT_EQ(message->answers[0].name, "c.a.b");
  EXPECT_EQ(message->answers[0].alias, "b");
}

TEST(DnsMessage, RefusesPointersThatDoNotLeadBackwards) {
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {0xC0, 12, 0, 1, 0, 1})));          // itself
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {0xC0, 14, 0, 0, 1, 0, 1})));       // forwards
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {1, 'a', 0xC0, 12, 0, 1, 0, 1})));  // a loop
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {0xFF, 0xFF, 0, 1, 0, 1})));        // outside
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {0xC0})));
}

TEST(DnsMessage, RefusesReservedLabelsAndLongNames) {
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {0x40, 'a', 0, 0, 1, 0, 1})));
  EXPECT_FALSE(parse_dns_message(message_of(1, 0, 0, {0x80, 'a', 0, 0, 1, 0, 1})));
  const std::string label(63, 'a');
  const std::string three = label + '.' + label + '.' + label + '.';
  EXPECT_TRUE(is_encodable_name(three + std::string(61, 'a')));  // 255 bytes
  EXPECT_FALSE(is_encodable_name(three + std::string(62, 'a')));
  EXPECT_FALSE(is_encodable_name(std::string(64, 'a')));
  Bytes longest = message_of(1, 0, 0, {});
  for (int i = 0; i < 4; ++i) {
    longest.push_back(63);
    longest.insert(longest.end(), 63, 'a');
  }
  for (const int value : {0, 0, 1, 0, 1}) longest.push_back(static_cast<std::uint8_t>(value));
  EXPECT_FALSE(parse_dns_message(longest));
}

// Some bytes of a message can stand for a long name, or for a long way to a short one.
TEST(DnsMessage, RefusesNamesThatTakeLong) {
  constexpr std::size_t kLargest = 65535;
  const auto grown = [](Bytes bytes, const Bytes& more, std::size_t place_of_count) {
    std::size_t count = 0;
    for (; bytes.size() + more.size() <= kLargest; ++count)
      bytes.insert(bytes.end(), more.begin(), more.end());
    count += std::size_t{bytes[place_of_count]} << 8U | bytes[place_of_count + 1];
    bytes[place_of_count] = static_cast<std::uint8_t>(count >> 8U);
    bytes[place_of_count + 1] = static_cast<std::uint8_t>(count);
    return bytes;
  };
  DnsMessage message;
  message.questions.push_back({.name = std::string(63, 'a') + '.' + std::string(63, 'b')});
  const Bytes named = build_dns_message(message);
  EXPECT_TRUE(parse_dns_message(grown(named, {0, 0, 1, 0, 1}, 4))) << "there may be many";
  EXPECT_FALSE(parse_dns_message(grown(named, {0xC0, 12, 0, 1, 0, 1}, 4)));

  // An additional record whose data are pointers, each to the one before.
  Bytes chain = {0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1};
  constexpr std::size_t kLinks = 8000;
  const std::size_t size = 2 + 2 * kLinks;
  for (const std::size_t byte :
       {std::size_t{0}, std::size_t{0}, std::size_t{16}, std::size_t{0}, std::size_t{1},
        std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0}, size >> 8U, size & 0xFFU,
        std::size_t{0}, std::size_t{0}})
    chain.push_back(static_cast<std::uint8_t>(byte));
  std::size_t last = chain.size() - 2;
  for (std::size_t i = 0; i < kLinks; ++i) {
    chain.push_back(static_cast<std::uint8_t>(0xC0U | last >> 8U));
    chain.push_back(static_cast<std::uint8_t>(last));
    last = chain.size() - 2;
  }
  ASSERT_TRUE(parse_dns_message(chain));
  EXPECT_FALSE(
      parse_dns_message(grown(chain,
                              {static_cast<std::uint8_t>(0xC0U | last >> 8U),
                               static_cast<std::uint8_t>(last), 0, 16, 0, 1, 0, 0, 0, 0, 0, 0},
                              10)));
}

TEST(DnsMessage, AnAliasFillsItsRecord) {
  EXPECT_FALSE(
      parse_dns_message(message_of(0, 1, 0, {0, 0, 5, 0, 1, 0, 0, 0, 0, 0, 4, 1, 'a', 0, 0})));
  EXPECT_TRUE(parse_dns_message(message_of(0, 1, 0, {0, 0, 5, 0, 1, 0, 0, 0, 0, 0, 3, 1, 'a', 0})));
}

TEST(DnsMessage, HasOneEdnsRecordAtMost) {
  EXPECT_TRUE(parse_dns_message(message_of(0, 0, 1, {0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(parse_dns_message(message_of(0, 0, 1, {1, 'a', 0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0})));
  EXPECT_FALSE(parse_dns_message(
      message_of(0, 0, 2, {0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0})));
}

TEST(DnsMessage, StrangeBytesOfANameAreEscaped) {
  const auto message =
      parse_dns_message(message_of(1, 0, 0, {4, 'a', '.', 0, 0xFF, 1, '\\', 0, 0, 1, 0, 1}));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->questions[0].name, "a\\046\\000\\255.\\092");
  EXPECT_EQ(parse_dns_message(build_dns_message(*message)), message);
  for (const char* name : {".", "a..b", ".a", "a.", "a b", "\\25", "\\256", "\\", "\\2x5"})
    EXPECT_FALSE(is_encodable_name(name)) << name;
  EXPECT_TRUE(is_encodable_name(""));
}

TEST(DnsMessage, IsCutToItsLimit) {
  const DnsMessage message = everything();
  EXPECT_EQ(parse_dns_message(build_dns_message(message, 512)), message);
  const auto cut = parse_dns_message(build_dns_message(message, 60));
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->is_truncated);
  EXPECT_TRUE(cut->answers.empty());
  EXPECT_EQ(cut->questions, message.questions);
}

}  // namespace
}  // namespace hermetic::guard
