#include "hermetic/record/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr std::size_t kLongestOnPage = 1'000;

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode's "default ignorable" characters but for variation selectors, which emoji have; the marks
// of direction; and what is no character at all.
constexpr std::array<Range, 14> kShapeless = {{{0x00AD, 0x00AD},
                                               {0x034F, 0x034F},
                                               {0x061C, 0x061C},
                                               {0x115F, 0x1160},
                                               {0x17B4, 0x17B5},
                                               {0x180B, 0x180F},
                                               {0x200B, 0x200F},
                                               {0x2060, 0x206F},
                                               {0x3164, 0x3164},
                                               {0xFEFF, 0xFEFF},
                                               {0xFFA0, 0xFFA0},
                                               {0xFFF0, 0xFFFB},
                                               {0x1D173, 0x1D17A},
                                               {0xE0000, 0xE0FFF}}};

bool is_shapeless(std::uint32_t character) {
  if ((character & 0xFFFEU) == 0xFFFEU) return true;  // the last two of each plane
  return std::any_of(kShapeless.begin(), kShapeless.end(), [&](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Of UTF-8 that has been checked.
std::size_t length_of(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && continues(text[length])) ++length;
  return length;
}

std::uint32_t character_of(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  std::uint32_t character = first & (0xFFU >> (sequence.size() + 1));
  for (const char byte : sequence.substr(1))
    character = character << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  return character;
}

std::string_view entity_of(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return "";
  }
}

// "1." at the beginning would number a list, and "www." is made a link.
bool dot_is_markup(std::string_view before) {
  if (before.ends_with('w') || before.ends_with('W')) return true;
  return !before.empty() && std::all_of(before.begin(), before.end(), is_digit);
}

std::string as_entities(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_word = static_cast<unsigned char>(c) >= 0x80 || is_digit(c) || c == ' ' ||
                         (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    result += is_word ? std::string(1, c) : fmt::format("&#{};", static_cast<int>(c));
  }
  return result;
}

}  // namespace

std::string visible(std::string_view text) {
  const std::string safe = printable(text);
  std::string_view rest = safe;
  std::string result;
  result.reserve(safe.size());
  while (!rest.empty()) {
    const std::string_view sequence = rest.substr(0, length_of(rest));
    const std::uint32_t character = character_of(sequence);
    if (is_shapeless(character))
      result += fmt::format("\\u{{{:x}}}", character);
    else
      result += sequence;
    rest.remove_prefix(sequence.size());
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && continues(text[most])) --most;
  return fmt::format("{}… ({} bytes more)", text.substr(0, most), text.size() - most);
}

std::string markup_text(std::string_view text) {
  std::string result;
  for (const char c : visible(text)) {
    const std::string_view entity = entity_of(c);
    if (entity.empty())
      result += c;
    else
      result += entity;
  }
  return result;
}

std::string html_code(std::string_view text) {
  return fmt::format("<code>{}</code>", markup_text(shortened(visible(text), kLongestOnPage)));
}

std::string html_phrase(std::string_view text) {
  return fmt::format("<bdi>{}</bdi>", markup_text(shortened(visible(text), kLongestOnPage)));
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kAlways = "\\`*_[]#|~$^";
  constexpr std::string_view kAtFirst = "+-=";
  const std::string safe = visible(text);
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    const std::string_view before = std::string_view(safe).substr(0, i);
    const bool is_entity = c == '&' || c == '<' || c == '>' || c == '@';
    const bool is_escaped = kAlways.find(c) != std::string_view::npos ||
                            (i == 0 && kAtFirst.find(c) != std::string_view::npos) ||
                            (c == ':' && i + 1 < safe.size() && safe[i + 1] != ' ') ||
                            ((c == '.' || c == ')') && dot_is_markup(before));
    if (is_entity)
      result += fmt::format("&#{};", static_cast<int>(c));
    else
      result += is_escaped ? std::string{'\\', c} : std::string(1, c);
  }
  return result;
}

// Inside backticks nothing is markup. But programs disagree how a bar is written there in a table.
std::string markdown_code(std::string_view text) {
  const std::string safe = visible(text);
  if (safe.empty()) return "";
  if (safe.find('|') != std::string::npos) return "<code>" + as_entities(safe) + "</code>";
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : safe) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  // One space at each end is taken away again.
  const auto is_edge = [](char c) { return c == '`' || c == ' '; };
  const char* pad = is_edge(safe.front()) || is_edge(safe.back()) ? " " : "";
  return fence + pad + safe + pad + fence;
}

bool is_web_address(std::string_view text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#=&%+,;";
  constexpr std::size_t kLongest = 2'000;
  if (text.size() > kLongest || text.find_first_not_of(kAllowed) != std::string_view::npos)
    return false;
  for (const std::string_view scheme : {"https://", "http://"})
    if (text.starts_with(scheme)) return text.size() > scheme.size() && text[scheme.size()] != '/';
  return false;
}

std::string markdown_address(std::string_view address) {
  return fmt::format("<{}>", markup_text(address));
}

}  // namespace hermetic
