#include "hermetic/record/bounded_json.h"

#include <cstddef>

#include <nlohmann/json.hpp>

namespace hermetic {
namespace {

// What hermetic writes to be read again has less than twenty levels.
constexpr std::size_t kDeepestValue = 100;

bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\')
      ++i;  // whatever it is, it ends no string
    else if (c == '"')
      in_string = !in_string;
    else if (in_string)
      continue;
    else if (c == '[' || c == '{') {
      if (++depth > kDeepestValue) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::json parse_bounded_json(std::string_view text) {
  if (is_too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace hermetic
