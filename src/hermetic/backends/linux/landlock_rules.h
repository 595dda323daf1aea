// The second line: which rights Landlock leaves to the command. Pure.
//
// Landlock adds rights up along a path and cannot take one away below, so the rules are an upper
// bound of what the mounts allow. They still catch what gets past the mounts: a path outside the
// sandbox's root is below none of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hermetic/plan/plan.h"

namespace hermetic::linux_backend {

struct LandlockRule {
  enum class Kind { Begin, Path, Enforce };

  Kind kind = Kind::Path;
  std::string path;
  std::uint64_t rights =
      0;                    // of Begin: those that are handled, which is all that this kernel knows
  std::uint64_t scope = 0;  // of Begin

  friend bool operator==(const LandlockRule&, const LandlockRule&) = default;
};

// Empty if the kernel has no Landlock (abi 0), or if the spec allows nested namespaces: Landlock
// forbids every mount, and nested sandboxes need some.
[[nodiscard]] std::vector<LandlockRule> landlock_rules(const Plan& plan, int abi);

}  // namespace hermetic::linux_backend
