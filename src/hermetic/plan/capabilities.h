// Capabilities: which clauses a backend can give on this host, and by what means.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "hermetic/spec/clause.h"

namespace hermetic {

enum class Strength {
  Absent,    // nothing keeps the promise
  Observed,  // a breach would be seen and reported, not prevented
  Enforced,  // a breach is impossible short of a bug in the kernel
};
[[nodiscard]] std::string_view to_string(Strength strength);  // "absent", "observed", "enforced"

struct Capability {
  Strength strength = Strength::Absent;
  std::string mechanism;  // "mount namespace"; empty if absent
  std::string reason;     // why it is not enforced
  std::string remedy;     // what would change that

  friend bool operator==(const Capability&, const Capability&) = default;
};

struct Capabilities {
  std::string backend;
  std::map<Clause, Capability> clauses;  // a clause that is not listed is absent
  // The second line and write-only outputs are Landlock's: rights that it gives to a tree hold for
  // everything below, and a process under it can mount nothing.
  bool uses_landlock = false;

  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

}  // namespace hermetic
