#include "hermetic/record/base64.h"

#include <algorithm>
#include <cstdint>

namespace hermetic {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::string_view four = text.substr(i, 4);
    const bool last = i + 4 == text.size();
    if (last && four.ends_with("=="))
      four.remove_suffix(2);
    else if (last && four.ends_with('='))
      four.remove_suffix(1);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t value = j < four.size() ? kAlphabet.find(four[j]) : 0;
      if (value == std::string_view::npos) return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    for (std::size_t j = 0; j + 1 < four.size(); ++j)
      bytes += static_cast<char>(group >> (16 - 8 * j) & 255U);
  }
  return bytes;
}

}  // namespace hermetic
