// Durations: how long the parts of a task took, and how that is written down.
#pragma once

#include <chrono>
#include <optional>

#include <nlohmann/json_fwd.hpp>

namespace hermetic::task {

struct Durations {
  std::chrono::nanoseconds setup{};        // until the first command could start
  std::chrono::nanoseconds checkout{};     // of that: finding the commit and what is cached of it
  std::chrono::nanoseconds environment{};  // of that: the same for the Python environment
  std::chrono::nanoseconds guard{};        // from the first namespace to the sealed sandbox
  std::chrono::nanoseconds command{};      // of all commands together, as the one before
  std::chrono::nanoseconds cleanup{};
};

[[nodiscard]] constexpr double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

[[nodiscard]] nlohmann::json durations_as_json(const Durations& durations);
// Nothing if one of them is not there.
[[nodiscard]] std::optional<Durations> durations_in(const nlohmann::json& object);

}  // namespace hermetic::task
