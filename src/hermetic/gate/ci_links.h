// Where a CI system shows the job and the commit, from what it tells its jobs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/record/report.h"

namespace hermetic::gate {

// Of GitHub, GitLab and Jenkins; only addresses that is_web_address() accepts.
[[nodiscard]] std::vector<ReportLink> ci_links(
    const std::map<std::string, std::string>& environment, std::string_view revision);

}  // namespace hermetic::gate
