// What events and their parts take in memory. Lists of what a command does have a limit in bytes,
// and not in entries only: the command chooses how long an entry is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hermetic/run/event.h"

namespace hermetic {

[[nodiscard]] inline std::size_t memory_of(const std::string& text) {
  return sizeof text + text.size();
}
[[nodiscard]] inline std::size_t memory_of(const std::vector<std::string>& texts) {
  std::size_t sum = 0;
  for (const std::string& text : texts) sum += memory_of(text);
  return sum;
}
[[nodiscard]] inline std::size_t memory_of(const ProcessFacts& facts) {
  return sizeof facts + facts.executable.size() + facts.directory.size() +
         memory_of(facts.arguments);
}
[[nodiscard]] inline std::size_t memory_of(const Violation& violation) {
  return sizeof violation + violation.act.size() + violation.subject.size() +
         violation.detail.size() + violation.rule.size() + violation.reason.size() +
         violation.remedy.size();
}
[[nodiscard]] inline std::size_t memory_of(const Event& event) {
  std::size_t sum = sizeof event + event.act.size() + event.subject.size() + event.detail.size() +
                    event.rule.size() + memory_of(event.arguments);
  if (event.endpoint) sum += event.endpoint->address.size() + event.endpoint->name.size();
  for (const ProcessFacts& facts : event.processes) sum += memory_of(facts);
  return sum;
}

}  // namespace hermetic
