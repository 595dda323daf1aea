#include "hermetic/record/redaction.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "hermetic/base/text.h"
#include "hermetic/record/secret_names.h"
#include "hermetic/record/secret_shapes.h"

namespace hermetic {
namespace {

constexpr std::string_view kMarker = "[redacted]";
constexpr std::string_view kMarkerStart = "[redacted:";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The value of `digits` hexadecimal digits at the beginning of `text`.
std::optional<unsigned> hex_number(std::string_view text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(0, digits)) {
    const int digit = hex_digit(c);
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

// A text without its escapes, and where each of its bytes came from.
struct Decoded {
  std::string text;
  std::vector<std::size_t> origin;  // one more than bytes: the end

  void put(char byte, std::size_t from) {
    text += byte;
    origin.push_back(from);
  }
};

Decoded without_percent(std::string_view text, bool plus_is_blank) {
  Decoded decoded;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = text[i] == '%' ? hex_number(text.substr(i + 1), 2) : std::nullopt;
    decoded.put(byte                              ? static_cast<char>(*byte)
                : plus_is_blank && text[i] == '+' ? ' '
                                                  : text[i],
                i);
    i += byte ? 3U : 1U;
  }
  decoded.origin.push_back(text.size());
  return decoded;
}

void put_utf8(Decoded& decoded, unsigned code, std::size_t from) {
  const auto byte = [](unsigned value) { return static_cast<char>(value); };
  if (code < 0x80) {
    decoded.put(byte(code), from);
  } else if (code < 0x800) {
    decoded.put(byte(0xC0U | (code >> 6U)), from);
    decoded.put(byte(0x80U | (code & 0x3FU)), from);
  } else {  // halves of surrogates stay halves: secrets beyond U+FFFF are found in other forms
    decoded.put(byte(0xE0U | (code >> 12U)), from);
    decoded.put(byte(0x80U | ((code >> 6U) & 0x3FU)), from);
    decoded.put(byte(0x80U | (code & 0x3FU)), from);
  }
}

// The escapes of JSON, of C and of printable().
Decoded without_backslashes(std::string_view text) {
  Decoded decoded;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t from = i;
    if (text[i] != '\\' || i + 1 == text.size()) {
      decoded.put(text[i++], from);
      continue;
    }
    const char escape = text[i + 1];
    i += 2;
    const std::size_t digits = escape == 'x' ? 2 : escape == 'u' ? 4 : 0;
    const auto code = digits == 0 ? std::nullopt : hex_number(text.substr(i), digits);
    if (code) {
      i += digits;
      if (escape == 'x')
        decoded.put(static_cast<char>(*code), from);
      else
        put_utf8(decoded, *code, from);
      continue;
    }
    constexpr std::string_view kEscapes = "bfnrt0";
    constexpr std::string_view kMeanings("\b\f\n\r\t\0", 6);
    const std::size_t known = kEscapes.find(escape);
    decoded.put(known == std::string_view::npos ? escape : kMeanings[known], from);
  }
  decoded.origin.push_back(text.size());
  return decoded;
}

// The escapes of names of hosts: \ and the number of a byte, in three digits.
Decoded without_numbers(std::string_view text) {
  const auto byte_at = [&](std::size_t at) -> std::optional<unsigned> {
    constexpr std::size_t kDigits = 3;
    if (text[at] != '\\' || text.size() - at <= kDigits) return std::nullopt;
    unsigned value = 0;
    for (const char c : text.substr(at + 1, kDigits)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value <= UINT8_MAX ? std::optional(value) : std::nullopt;
  };
  Decoded decoded;
  for (std::size_t i = 0; i < text.size();) {
    const std::optional<unsigned> byte = byte_at(i);
    decoded.put(byte ? static_cast<char>(*byte) : text[i], i);
    i += byte ? 4U : 1U;
  }
  decoded.origin.push_back(text.size());
  return decoded;
}

// Those letters of base64 that depend on the value alone when `before` bytes (0 to 2) stand before
// it: the same value is written in three ways.
std::string in_base64(std::string_view value, std::size_t before, std::string_view letters) {
  std::string bytes(before, '\0');
  bytes += value;
  const std::size_t bits = bytes.size() * 8;
  std::string text;
  for (std::size_t letter = (before * 8 + 5) / 6; (letter + 1) * 6 <= bits; ++letter) {
    unsigned index = 0;
    for (std::size_t bit = letter * 6; bit < letter * 6 + 6; ++bit) {
      const unsigned byte = static_cast<unsigned char>(bytes[bit / 8]);
      index = index * 2 + ((byte >> (7 - bit % 8)) & 1U);
    }
    text += letters[index];
  }
  return text;
}

constexpr std::array<std::string_view, 2> kBase64 = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Sorted, and what touches is one: nothing of a secret stays between two others.
std::vector<SecretSpan> merged(std::vector<SecretSpan> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<SecretSpan> result;
  for (const SecretSpan& span : spans) {
    if (result.empty() || span.begin > result.back().end) {
      result.push_back(span);
      continue;
    }
    SecretSpan& last = result.back();
    if (last.owner != span.owner) last.owner = SecretSpan::kNobody;
    last.end = std::max(last.end, span.end);
  }
  return result;
}

}  // namespace

Redaction::Redaction(const std::map<std::string, std::string>& environment)
    : Redaction(std::vector<Variable>(environment.begin(), environment.end())) {}

Redaction::Redaction(std::span<const Variable> environment) {
  for (const Variable& variable : environment)
    if (is_secret_variable(variable.first)) add(variable);
  values_.complete();
  avoid_telling_names();
}

void Redaction::add(const Variable& variable) {
  const std::string_view value = trimmed(variable.second);
  if (value.size() < kShortest || kMarker.find(value) != std::string_view::npos) return;
  const int owner = static_cast<int>(markers_.size());
  markers_.push_back(std::string(kMarkerStart) + variable.first + "]");
  values_.add(value, owner);
  // printable() leaves backslashes as they are, so that what it made cannot be taken back.
  values_.add(printable(value), owner);
  // Names of hosts are told in small letters.
  std::string small(value);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  values_.add(small, owner);
  for (std::size_t before = 0; before < 3; ++before)
    for (const std::string_view letters : kBase64)
      if (const std::string text = in_base64(value, before, letters); text.size() >= kShortest)
        values_.add(text, owner);
  // The lines of a private key are told one by one, too.
  constexpr std::size_t kShortestLine = 16;
  if (value.find('\n') == std::string_view::npos) return;
  for (std::size_t begin = 0; begin < value.size();) {
    const std::size_t end = std::min(value.find('\n', begin), value.size());
    const std::string_view line = trimmed(value.substr(begin, end - begin));
    if (line.size() >= kShortestLine) values_.add(line, owner);
    begin = end + 1;
  }
}

// A name must not say what its value, or another one, is.
void Redaction::avoid_telling_names() {
  for (std::string& marker : markers_) {
    const std::string_view name = std::string_view(marker).substr(kMarkerStart.size());
    const bool plain = std::all_of(name.begin(), name.end() - 1, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!plain || !values_.find(marker).empty()) marker = kMarker;
  }
}

std::size_t Redaction::marker_length(std::string_view text) const {
  if (text.starts_with(kMarker)) return kMarker.size();
  if (!text.starts_with(kMarkerStart)) return 0;
  for (const std::string& marker : markers_)
    if (text.starts_with(marker)) return marker.size();
  return 0;
}

std::vector<SecretSpan> Redaction::markers_in(std::string_view text) const {
  std::vector<SecretSpan> markers;
  for (std::size_t at = 0; (at = text.find("[redacted", at)) != std::string_view::npos;) {
    const std::size_t length = marker_length(text.substr(at));
    if (length != 0) markers.push_back({at, at + length});
    at += std::max<std::size_t>(length, 1);
  }
  return markers;
}

std::vector<SecretSpan> Redaction::find(std::string_view text) const {
  std::vector<SecretSpan> spans = find_secret_shapes(text);
  if (values_.empty()) return spans;
  const auto add_from = [&](const Decoded& decoded) {
    for (const SecretSpan& span : values_.find(decoded.text))
      spans.push_back({decoded.origin[span.begin], decoded.origin[span.end], span.owner});
  };
  for (const SecretSpan& span : values_.find(text)) spans.push_back(span);
  if (text.find('%') != std::string_view::npos) add_from(without_percent(text, false));
  if (text.find('+') != std::string_view::npos) add_from(without_percent(text, true));
  if (text.find('\\') == std::string_view::npos) return spans;
  add_from(without_backslashes(text));
  add_from(without_numbers(text));
  return spans;
}

// Markers stay as they are, and what is left of a span around them becomes markers.
std::string Redaction::replace(std::string_view text, std::vector<SecretSpan> spans) const {
  const std::vector<SecretSpan> kept = markers_in(text);
  auto next = kept.begin();
  std::string result;
  std::size_t done = 0;
  const auto strike = [&](std::size_t begin, std::size_t end, int owner) {
    if (begin >= end) return;
    result += text.substr(done, begin - done);
    result += owner == SecretSpan::kNobody
                  ? kMarker
                  : std::string_view(markers_[static_cast<std::size_t>(owner)]);
    done = end;
  };
  for (const SecretSpan& span : merged(std::move(spans))) {
    std::size_t begin = span.begin;
    while (next != kept.end() && next->end <= begin) ++next;
    for (; next != kept.end() && next->begin < span.end; ++next) {
      strike(begin, next->begin, span.owner);
      begin = next->end;
      if (begin >= span.end) break;
    }
    strike(begin, span.end, span.owner);
  }
  result += text.substr(done);
  return result;
}

std::string Redaction::clean(std::string_view text) const {
  std::string result(text);
  // What was struck out may part, or bring together, what stood around it. Each round takes time in
  // proportion to the text; ordinary text takes two.
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<SecretSpan> spans = find(result);
    if (spans.empty()) break;
    std::string next = replace(result, std::move(spans));
    if (next == result) break;
    result = std::move(next);
  }
  return result;
}

std::vector<std::string> Redaction::clean_arguments(std::span<const std::string> arguments) const {
  std::vector<std::string> result;
  std::string_view before;
  for (const std::string& argument : arguments) {
    std::size_t secret = secret_assignment(argument);
    if (announces_secret(before) && !argument.starts_with("--")) secret = 0;
    if (announces_user(before) && secret == std::string_view::npos) {
      // The colon of a marker parts nothing.
      std::string visible = argument;
      for (const SecretSpan& marker : markers_in(argument))
        std::fill(visible.begin() + static_cast<std::ptrdiff_t>(marker.begin),
                  visible.begin() + static_cast<std::ptrdiff_t>(marker.end), '?');
      secret = password_of_user(visible);
    }
    if (secret != std::string_view::npos && secret < argument.size()) {
      const std::string_view value = std::string_view(argument).substr(secret);
      // One that has a name keeps it.
      const bool marked = marker_length(value) == value.size();
      const std::string whole = clean(value);
      result.push_back(
          clean(argument.substr(0, secret)) +
          (marked || marker_length(whole) == whole.size() ? whole : std::string(kMarker)));
    } else {
      result.push_back(clean(argument));
    }
    before = argument;
  }
  return result;
}

}  // namespace hermetic
