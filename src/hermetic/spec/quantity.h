// Sizes and durations as people write them: "64M", "1h30m".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"

namespace hermetic {

// Digits with an optional K, M, G, T or P (powers of 1024; "KiB" and "KB" mean the same). Zero,
// signs, fractions and what does not fit 2^62 bytes are refused.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

// Parts in descending order, each digits with d, h, m, s or ms: "90s", "1h30m", "250ms". A bare
// number is refused: nobody can tell whether 60 means seconds or minutes. At most 3650 days.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// A plain decimal count between `least` and `most`.
[[nodiscard]] Result<std::uint64_t> parse_count(std::string_view text, std::uint64_t least,
                                                std::uint64_t most);

// The shortest exact form that the parsers read back: 4294967296 -> "4G", 5400000 ms -> "1h30m".
[[nodiscard]] std::string format_size(std::uint64_t bytes);
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

}  // namespace hermetic
