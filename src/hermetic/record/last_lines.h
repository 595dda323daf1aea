// The last lines of what a command wrote: where the reason of a failure mostly stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/record/redaction.h"

namespace hermetic {

inline constexpr std::size_t kLastLines = 10;

// At most kLastLines lines of both streams, standard output first; each gets half, or more if the
// other leaves some. Colours and what a progress bar wrote over are left out; then secrets are
// looked for once more, since what was taken out may have stood in the middle of one. Printable.
[[nodiscard]] std::vector<std::string> last_lines_of(std::string_view standard_output,
                                                     std::string_view standard_error,
                                                     const Redaction& redaction);

}  // namespace hermetic
