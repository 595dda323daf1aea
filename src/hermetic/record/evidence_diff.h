// What differs between two runs, and why, out of their evidence.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

struct Difference {
  std::string what;   // "inputs /w/src: main.c"
  std::string first;  // as JSON; "" if it is not there
  std::string second;

  friend bool operator==(const Difference&, const Difference&) = default;
};

struct EvidenceDiff {
  std::string first_digest;
  std::string second_digest;
  std::vector<std::string> reasons;     // for people, the likeliest cause first
  std::vector<Difference> differences;  // of the stable parts

  [[nodiscard]] bool same() const { return first_digest == second_digest; }
};

// Each is a folder of evidence.
[[nodiscard]] Result<EvidenceDiff> diff_evidence(const std::string& first,
                                                 const std::string& second);

// For programs; ends with a newline.
[[nodiscard]] std::string diff_as_json(const EvidenceDiff& diff);

}  // namespace hermetic
