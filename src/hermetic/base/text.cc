#include "hermetic/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace hermetic {
namespace {

// The form of a well-formed UTF-8 sequence by its first byte (RFC 3629, section 4): the ranges of
// the second byte leave out overlong forms, surrogates and what is above U+10FFFF.
struct Form {
  std::uint8_t first;
  std::uint8_t last;
  std::size_t length;
  std::uint8_t second_first;
  std::uint8_t second_last;
};
constexpr std::array<Form, 8> kForms = {{{0xC2, 0xDF, 2, 0x80, 0xBF},
                                         {0xE0, 0xE0, 3, 0xA0, 0xBF},
                                         {0xE1, 0xEC, 3, 0x80, 0xBF},
                                         {0xED, 0xED, 3, 0x80, 0x9F},
                                         {0xEE, 0xEF, 3, 0x80, 0xBF},
                                         {0xF0, 0xF0, 4, 0x90, 0xBF},
                                         {0xF1, 0xF3, 4, 0x80, 0xBF},
                                         {0xF4, 0xF4, 4, 0x80, 0x8F}}};

// The length of the well-formed sequence that starts `text`, or 0.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) < 0x80) return 1;
  for (const Form& form : kForms) {
    if (byte(0) < form.first || byte(0) > form.last) continue;
    if (text.size() < form.length || byte(1) < form.second_first || byte(1) > form.second_last)
      return 0;
    for (std::size_t i = 2; i < form.length; ++i)
      if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
    return form.length;
  }
  return 0;
}

// Is the sequence a character that a terminal obeys instead of showing it?
bool is_obeyed(std::string_view sequence) {
  const auto first = static_cast<std::uint8_t>(sequence[0]);
  if (sequence.size() == 1) return first < 0x20 || first == 0x7F;
  // U+0080 to U+009F are control characters too: some terminals obey them.
  if (sequence.size() == 2) return first == 0xC2 && static_cast<std::uint8_t>(sequence[1]) < 0xA0;
  if (sequence.size() != 3 || first != 0xE2) return false;
  const auto second = static_cast<std::uint8_t>(sequence[1]);
  const auto third = static_cast<std::uint8_t>(sequence[2]);
  // U+2028 to U+202E break lines and turn the direction of what follows around, U+2066 to U+2069 as
  // well: a path would be read as another one.
  return (second == 0x80 && third >= 0xA8 && third <= 0xAE) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

// Insertions, deletions, substitutions and swaps of neighbours, each one step.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last.back();
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = sequence_length(text);
    if (length == 0 || is_obeyed(text.substr(0, length))) {
      length = std::max<std::size_t>(length, 1);
      for (std::size_t i = 0; i < length; ++i) {
        const auto bad = static_cast<std::uint8_t>(text[i]);
        if (bad == '\n')
          result += "\\n";
        else if (bad == '\t')
          result += "\\t";
        else
          result += fmt::format("\\x{:02x}", bad);
      }
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::vector<std::string> printable_all(const std::vector<std::string>& texts) {
  std::vector<std::string> printed;
  for (const std::string& text : texts) printed.push_back(printable(text));
  return printed;
}

std::string_view closest(std::string_view word, std::span<const std::string_view> candidates) {
  // Absurdly long words are no typos, and the distance is quadratic.
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace hermetic
