// What "hermetic doctor" found out about a host, clause by clause.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/plan/capabilities.h"

namespace hermetic {

// How a forbidden act was answered inside a sandbox.
struct ProbeResult {
  bool held = false;
  std::string detail;  // "link across mounts: EXDEV"
};

struct Examination {
  struct Row {
    Clause clause = Clause::InputsReadOnly;
    Capability capability;
    std::optional<ProbeResult> tried;
  };

  std::string backend;
  std::vector<std::pair<std::string, std::string>> facts;  // about the host, by name
  std::vector<Row> rows;
};

[[nodiscard]] std::string examination_as_json(const Examination& examination);

}  // namespace hermetic
