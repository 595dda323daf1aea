// The options of a run, read from JSON.
#pragma once

#include <chrono>
#include <optional>

#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"

namespace hermetic::c {

struct StartOptions {
  RunOptions run;
  std::optional<std::chrono::milliseconds> timeout;  // a shorter limit of the spec stays
};

// NULL is an empty object. Refuses keys that it does not know, and values of the wrong type.
[[nodiscard]] Result<StartOptions> read_options(const char* json);

}  // namespace hermetic::c
