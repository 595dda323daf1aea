// Reads back a spec that was learned, so that another run can be added to it.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/learn/observation.h"

namespace hermetic {

// Refuses a spec that says what learning does not write: that would be lost.
[[nodiscard]] Result<Earlier> read_earlier(std::string_view text, const std::string& file,
                                           const std::string& here);

}  // namespace hermetic
