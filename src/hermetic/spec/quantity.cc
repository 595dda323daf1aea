#include "hermetic/spec/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 62U;
constexpr std::chrono::milliseconds kLongestDuration = std::chrono::hours(24 * 3650);
constexpr std::string_view kSizeHint =
    "write a whole number with K, M, G, T or P, such as 64M or 4G";
constexpr std::string_view kDurationHint =
    "write whole numbers with d, h, m, s or ms, such as 250ms, 90s or 1h30m";

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::array<Unit, 5> kDurationUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::string_view kSizeUnits = "KMGTP";

Error bad(std::string_view what, std::string_view text, std::string_view why,
          std::string_view hint) {
  return invalid(fmt::format("{} '{}' {}", what, printable(text.substr(0, 80)), why),
                 std::string(hint));
}

// Reads the digits that start `text` and cuts them off. Fails on none, and on overflow.
// A leading zero is octal to some and decimal to others; nobody needs it.
enum class Digits { Read, None, TooLarge, LeadingZero };
Digits take_digits(std::string_view& text, std::uint64_t& value) {
  if (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9')
    return Digits::LeadingZero;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument) return Digits::None;
  if (error == std::errc::result_out_of_range) return Digits::TooLarge;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return Digits::Read;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::string_view rest = text;
  std::uint64_t value = 0;
  switch (take_digits(rest, value)) {
    case Digits::None: return bad("size", text, "does not start with a number", kSizeHint);
    case Digits::LeadingZero: return bad("size", text, "starts with a zero", kSizeHint);
    case Digits::TooLarge: return bad("size", text, "is larger than 4 EiB", kSizeHint);
    case Digits::Read: break;
  }
  unsigned shift = 0;
  if (!rest.empty()) {
    const char letter =
        rest.front() >= 'a' ? static_cast<char>(rest.front() - 'a' + 'A') : rest.front();
    const std::size_t unit = kSizeUnits.find(letter);
    const std::string_view suffix = rest.substr(1);
    const bool plain_bytes = rest == "B";
    if (!plain_bytes &&
        (unit == std::string_view::npos || (!suffix.empty() && suffix != "B" && suffix != "iB")))
      return bad("size", text, "has an unknown unit", kSizeHint);
    if (!plain_bytes) shift = 10 * (static_cast<unsigned>(unit) + 1);
  }
  if (value == 0) return bad("size", text, "is zero", "leave the key out to have no limit");
  if (value > (kLargestSize >> shift)) return bad("size", text, "is larger than 4 EiB", kSizeHint);
  return value << shift;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  std::uint64_t total = 0;
  std::size_t next_unit = 0;
  if (rest.empty()) return bad("duration", text, "is empty", kDurationHint);
  while (!rest.empty()) {
    std::uint64_t value = 0;
    switch (take_digits(rest, value)) {
      case Digits::None: return bad("duration", text, "is not a duration", kDurationHint);
      case Digits::LeadingZero:
        return bad("duration", text, "has a number that starts with a zero", kDurationHint);
      case Digits::TooLarge:
        return bad("duration", text, "is longer than ten years", kDurationHint);
      case Digits::Read: break;
    }
    std::size_t length = 0;
    while (length < rest.size() && rest[length] >= 'a' && rest[length] <= 'z') ++length;
    const std::string_view name = rest.substr(0, length);
    if (name.empty()) return bad("duration", text, "has a number without a unit", kDurationHint);
    std::size_t unit = next_unit;
    while (unit < kDurationUnits.size() && kDurationUnits[unit].name != name) ++unit;
    if (unit == kDurationUnits.size())
      return bad("duration", text, "has an unknown, repeated or misplaced unit", kDurationHint);
    next_unit = unit + 1;
    rest.remove_prefix(length);
    constexpr auto kMost = static_cast<std::uint64_t>(kLongestDuration.count());
    if (value > kMost / kDurationUnits[unit].factor)
      return bad("duration", text, "is longer than ten years", kDurationHint);
    total += value * kDurationUnits[unit].factor;
    if (total > kMost) return bad("duration", text, "is longer than ten years", kDurationHint);
  }
  if (total == 0) return bad("duration", text, "is zero", "leave the key out to have no limit");
  return std::chrono::milliseconds(total);
}

Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least, std::uint64_t most) {
  const std::string range = fmt::format("write a whole number from {} to {}", least, most);
  std::string_view rest = text;
  std::uint64_t value = 0;
  const Digits digits = take_digits(rest, value);
  if (digits == Digits::LeadingZero) return bad("number", text, "starts with a zero", range);
  if (digits == Digits::None || !rest.empty())
    return bad("number", text, "is not a whole number", range);
  if (digits == Digits::TooLarge || value < least || value > most)
    return bad("number", text, "is out of range", range);
  return value;
}

std::string format_size(std::uint64_t bytes) {
  unsigned unit = 0;
  while (unit < kSizeUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  if (unit > 0) text += kSizeUnits[unit - 1];
  return text;
}

std::string format_duration(std::chrono::milliseconds duration) {
  auto rest = static_cast<std::uint64_t>(duration.count());
  std::string text;
  for (const Unit& unit : kDurationUnits) {
    if (const std::uint64_t count = rest / unit.factor; count > 0)
      text += fmt::format("{}{}", count, unit.name);
    rest %= unit.factor;
  }
  return text.empty() ? "0ms" : text;
}

}  // namespace hermetic
