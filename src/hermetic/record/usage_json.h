// Usage as JSON: in the outcome, and line by line as a time series.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "hermetic/run/usage.h"

namespace hermetic {

[[nodiscard]] nlohmann::json usage_as_json(const Usage& usage);

// One line of a time series, with its newline: what is used at the moment, and the sums so far.
[[nodiscard]] std::string sample_line(const Usage& usage);

}  // namespace hermetic
