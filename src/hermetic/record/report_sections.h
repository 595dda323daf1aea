// The parts of a page that tell what a step was given, what kept it in, and what it left.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/record/redaction.h"
#include "hermetic/record/report.h"
#include "hermetic/record/report_words.h"

namespace hermetic {

// Each is a piece of HTML, "" if there is nothing to tell.
[[nodiscard]] std::string breaches_as_html(const std::vector<Breach>& breaches);
[[nodiscard]] std::string trees_as_html(const std::vector<TreeFact>& facts,
                                        const Redaction& redaction);
[[nodiscard]] std::string clauses_as_html(const Plan& plan, const Redaction& redaction);
[[nodiscard]] std::string controls_as_html(const std::vector<NegativeControl>& probes);
[[nodiscard]] std::string coverage_as_html(const RunRecord& run, const Redaction& redaction);
// What was tried in the network, allowed or not.
[[nodiscard]] std::string attempts_as_html(const std::vector<Attempt>& attempts,
                                           const Redaction& redaction);
[[nodiscard]] std::string destinations_as_html(const std::vector<Destination>& destinations);
[[nodiscard]] std::string notes_as_html(const std::vector<std::string>& notes,
                                        const Redaction& redaction);
[[nodiscard]] std::string last_lines_as_html(const std::vector<std::string>& lines,
                                             const Redaction& redaction);
// What has changed since the run that the report is compared with.
[[nodiscard]] std::string comparison_as_html(const Report& report, const Redaction& redaction);
// The end of what was captured.
[[nodiscard]] std::string output_as_html(std::string_view title, std::string_view output,
                                         const Redaction& redaction);

}  // namespace hermetic
