// GateConsole: what people see of a gate: a line for each step, in CI systems in their own terms.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "hermetic/gate/gate.h"

namespace hermetic::cli {

class GateConsole {
 public:
  explicit GateConsole(bool quiet);

  void on_progress(const gate::Progress& progress);
  // The breaches, where the evidence is, and, where a CI system reads along, annotations and a
  // summary.
  void conclude(const Report& report, const std::string& folder) const;

 private:
  void annotate(const Report& report) const;

  bool quiet_;
  bool color_;
  bool live_;  // a terminal: what runs is shown, too
  std::map<std::string, std::chrono::steady_clock::time_point> running_;
};

}  // namespace hermetic::cli
