// What the command tried and may not, for people: what, who, which rule, and what would allow it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/run/event.h"

namespace hermetic::cli {

// "" if there was nothing. At most `most` of them, and how many more there were.
[[nodiscard]] std::string violation_report(const std::vector<Violation>& violations,
                                           const Redaction& redaction, std::size_t most);

}  // namespace hermetic::cli
