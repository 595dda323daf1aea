// What a run used over time, and when the steps ran, as drawings inside the page of a report.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/record/report.h"
#include "hermetic/run/usage.h"

namespace hermetic {

// Processor, memory and processes, one below the other. "" if there are too few samples to draw.
[[nodiscard]] std::string timeline_as_html(const std::vector<Usage>& samples);

// A bar for each step, in the order in which they began. "" if there are not at least two.
[[nodiscard]] std::string steps_over_time_as_html(const Report& report, const Redaction& redaction);

// "850 ms", "24.3 s", "3 min 5 s"
[[nodiscard]] std::string duration_text(std::chrono::microseconds duration);

}  // namespace hermetic
