// The one script of the page of a report: it copies what stands beside a button.
#pragma once

#include <string_view>

namespace hermetic {

// The page allows this very text and no other. Without it the buttons stay hidden.
[[nodiscard]] std::string_view report_script();

}  // namespace hermetic
