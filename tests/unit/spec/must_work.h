// Whether a test that this machine cannot run is a failure, as in ./check, and not a skip.
#pragma once

#include <cstdlib>
#include <string_view>

namespace hermetic {

inline bool must_work() {
  const char* value = std::getenv("HERMETIC_MUST_WORK");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace hermetic
