// The difference of two texts, as `git apply` and `patch -p1` read it.
#pragma once

#include <string>
#include <string_view>

namespace hermetic::gate {

// A unified diff of a file with this name, seen from where it is applied. "" if they are the same.
[[nodiscard]] std::string unified_diff(const std::string& name, std::string_view before,
                                       std::string_view after);

}  // namespace hermetic::gate
