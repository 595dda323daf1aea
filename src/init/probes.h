// Negative controls: what must fail inside is tried there, before the command runs.
#pragma once

#include <cstdint>

namespace hermetic::init {

struct ProbeTargets {
  std::uint32_t wanted = 0;  // bits, as linux_backend::Probe numbers them
  const char* secret = "";   // a file of the host that is not declared
  const char* input = "";    // a directory that may only be read
  long key = 0;              // marks the calls: they are nobody's violation
};

// The bits of those that succeeded: none, if the sandbox holds.
[[nodiscard]] std::uint32_t run_probes(const ProbeTargets& targets);

}  // namespace hermetic::init
