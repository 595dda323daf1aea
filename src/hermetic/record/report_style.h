// How the page of a report looks.
#pragma once

#include <string_view>

namespace hermetic {

// A style sheet that fits light and dark screens, telephones and paper. It loads nothing.
[[nodiscard]] std::string_view report_style();

}  // namespace hermetic
