// What an earlier gate has left, to compare a report with.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "hermetic/base/result.h"
#include "hermetic/record/redaction.h"
#include "hermetic/record/report.h"

namespace hermetic::gate {

struct PreviousGate {
  struct Step {
    std::string verdict;
    std::set<std::string> breaches;  // in brief
    std::optional<std::chrono::microseconds> took = {};
  };
  std::string folder;
  std::string revision;
  std::map<std::string, Step> steps;  // by id
};

// Everything is redacted again and printable: somebody else may have written it. Read before the
// gate runs, since its own evidence may replace the folder.
[[nodiscard]] Result<PreviousGate> read_previous_gate(const std::string& folder,
                                                      const Redaction& redaction);

// `whole`: the report is of all steps of its policy, so one that is not in it is gone.
[[nodiscard]] ReportChanges changes_since(const PreviousGate& previous, const Report& report,
                                          bool whole);

}  // namespace hermetic::gate
