// GateConsole: what people see of a gate: a line for each step, in CI systems in their own terms.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "hermetic/base/result.h"
#include "hermetic/gate/gate.h"
#include "hermetic/places/own_place.h"

namespace hermetic::cli {

class GateConsole {
 public:
  explicit GateConsole(bool quiet);

  void on_progress(const gate::Progress& progress);
  // What failed, where the evidence is, and, where a CI system reads along, annotations and a
  // summary.
  void conclude(const Report& report, const std::string& folder,
                const std::optional<OwnPlace>& summary, const Redaction& redaction) const;

 private:
  void tell(const ReportStep& step) const;
  void annotate(const Report& report, const std::optional<OwnPlace>& summary,
                const Redaction& redaction) const;

  bool quiet_;
  bool color_;
  bool live_;  // a terminal: what runs is shown, too
  std::map<std::string, std::chrono::steady_clock::time_point> running_;
};

inline constexpr const char* kSummaryVariable = "GITHUB_STEP_SUMMARY";

// Where GitHub wants it, if it does. To be found before a step runs, and kept from all of them.
[[nodiscard]] Result<std::optional<OwnPlace>> place_of_summary();

}  // namespace hermetic::cli
