#include "hermetic/task/durations.h"

#include <array>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace hermetic::task {
namespace {

constexpr std::array<std::pair<const char*, std::chrono::nanoseconds Durations::*>, 6> kDurations =
    {{{"setup_ms", &Durations::setup},
      {"checkout_ms", &Durations::checkout},
      {"environment_ms", &Durations::environment},
      {"guard_ms", &Durations::guard},
      {"command_ms", &Durations::command},
      {"cleanup_ms", &Durations::cleanup}}};

}  // namespace

nlohmann::json durations_as_json(const Durations& durations) {
  nlohmann::json object;
  for (const auto& [key, part] : kDurations) object[key] = milliseconds(durations.*part);
  return object;
}

std::optional<Durations> durations_in(const nlohmann::json& object) {
  Durations durations;
  for (const auto& [key, part] : kDurations) {
    if (!object.is_object() || !object.contains(key) || !object[key].is_number())
      return std::nullopt;
    durations.*part = std::chrono::nanoseconds(std::llround(object[key].get<double>() * 1e6));
  }
  return durations;
}

}  // namespace hermetic::task
