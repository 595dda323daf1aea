// Text as people meet it: UTF-8 checks, printing what may not be printable, and guessing a typo.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hermetic {

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[nodiscard]] bool is_utf8(std::string_view text);

// Control characters, DEL, marks that turn the direction of text and bytes that are not UTF-8
// become \n, \t, \x1b…: what a message quotes can neither break its line nor talk to the terminal.
[[nodiscard]] std::string printable(std::string_view text);
[[nodiscard]] std::vector<std::string> printable_all(const std::vector<std::string>& texts);

// The candidate nearest to `word` if it is near enough to be a typo of it, else "".
[[nodiscard]] std::string_view closest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace hermetic
