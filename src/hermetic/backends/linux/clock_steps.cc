#include "hermetic/backends/linux/clock_steps.h"

#include <fmt/format.h>

namespace hermetic::linux_backend {
namespace {

// The part below a second is positive, as time_namespaces(7) wants it.
std::string negated(const timespec& time) {
  return time.tv_nsec == 0 ? fmt::format("{} 0", -time.tv_sec)
                           : fmt::format("{} {}", -time.tv_sec - 1, 1'000'000'000 - time.tv_nsec);
}

}  // namespace

void add_clock_steps(LoweredScript& script, const Facts& facts) {
  script.steps.push_back({.kind = Step::Kind::EnterTimeNamespace});
  const std::string offsets =
      fmt::format("monotonic {}\nboottime {}\n", negated(facts.monotonic), negated(facts.boottime));
  script.steps.push_back({.kind = Step::Kind::WriteFile,
                          .target = "/proc/self/timens_offsets",
                          .text = script.keep(offsets),
                          .text_size = static_cast<std::uint32_t>(offsets.size())});
}

}  // namespace hermetic::linux_backend
