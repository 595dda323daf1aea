// What a spec allows that one run of it did not need.
#pragma once

#include <string>
#include <vector>

#include "hermetic/learn/observation.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

struct Needless {
  std::string what;    // "input /srv/data"
  std::string detail;  // "nothing in it was used"; or what was, if that is little

  friend bool operator==(const Needless&, const Needless&) = default;
};

// In the order of the spec. A tree is used by what was read, executed or written in it and is
// there; a name that nothing had is no use.
[[nodiscard]] std::vector<Needless> needless(const Spec& spec, const std::vector<SeenPath>& seen);

}  // namespace hermetic
