// The processes of a run, as lists to be unfolded inside the page of a report.
#pragma once

#include <string>
#include <vector>

#include "hermetic/record/process_tree.h"
#include "hermetic/record/redaction.h"

namespace hermetic {

// Within bounds: a run can have twenty thousand processes, each the parent of the next.
[[nodiscard]] std::string processes_as_html(const std::vector<ProcessNode>& roots,
                                            const Redaction& redaction);

}  // namespace hermetic
