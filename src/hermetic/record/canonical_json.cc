#include "hermetic/record/canonical_json.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/base/check.h"
#include "hermetic/base/json_text.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargest = (std::int64_t{1} << 53) - 1;

// In UTF-16 a character beyond the first plane is written with surrogates, D800 to DFFF, and so
// comes before E000 to FFFF; in UTF-8, and as a number, it comes after.
std::uint32_t rank_in_utf16(unsigned char first_byte) {
  constexpr unsigned char kFourBytes = 0xF0;        // beyond the first plane
  constexpr unsigned char kAfterSurrogates = 0xEE;  // E000 to FFFF
  if (first_byte >= kFourBytes) return 1;
  return first_byte >= kAfterSurrogates ? 2 : 0;
}

bool before_in_utf16(std::string_view a, std::string_view b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() || right == b.end()) return left == a.end() && right != b.end();
  const auto x = static_cast<unsigned char>(*left);
  const auto y = static_cast<unsigned char>(*right);
  // Where they differ within a character, both have the same first byte, and bytes tell.
  if (rank_in_utf16(x) != rank_in_utf16(y)) return rank_in_utf16(x) < rank_in_utf16(y);
  return x < y;
}

void write(JsonText& text, const json& value) {
  switch (value.type()) {
    case json::value_t::object: {
      std::vector<const json::object_t::value_type*> members;
      for (const auto& member : value.get_ref<const json::object_t&>()) members.push_back(&member);
      std::sort(members.begin(), members.end(),
                [](const auto* a, const auto* b) { return before_in_utf16(a->first, b->first); });
      text.begin_object();
      for (const auto* member : members) write(text.key(member->first), member->second);
      text.end_object();
      return;
    }
    case json::value_t::array:
      text.begin_array();
      for (const json& element : value) write(text, element);
      text.end_array();
      return;
    case json::value_t::string: {
      const auto& raw = value.get_ref<const std::string&>();
      CHECK(is_utf8(raw));
      text.text(raw);
      return;
    }
    case json::value_t::boolean: text.boolean(value.get<bool>()); return;
    case json::value_t::number_unsigned: {
      const auto number = value.get<std::uint64_t>();
      if (number <= std::uint64_t{kLargest})
        text.number(number);
      else
        text.text(std::to_string(number));
      return;
    }
    case json::value_t::number_integer: {
      const auto number = value.get<std::int64_t>();
      if (number >= -kLargest && number <= kLargest)
        text.integer(number);
      else
        text.text(std::to_string(number));
      return;
    }
    case json::value_t::null: text.null(); return;
    default: CHECK(false);  // a fraction, or binary
  }
}

}  // namespace

std::string canonical_json(const json& document) {
  JsonText text;
  write(text, document);
  return text.str();
}

std::string readable_json(const nlohmann::json& document) { return document.dump(2) + "\n"; }

}  // namespace hermetic
