// JSON that somebody else has written: parsed only as far as it can be handled safely.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace hermetic {

// Discarded if it is not JSON, or is nested so deeply that whoever walks it would run out of stack.
[[nodiscard]] nlohmann::json parse_bounded_json(std::string_view text);

}  // namespace hermetic
