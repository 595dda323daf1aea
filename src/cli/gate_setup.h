// What every way to run a gate needs, out of its command line.
#pragma once

#include <string>

#include "cli/gate_detectors.h"
#include "cli/options.h"
#include "hermetic/base/result.h"
#include "hermetic/gate/gate.h"

namespace hermetic::cli {

struct GateSetup {
  gate::Policy policy;
  gate::GateOptions options;
  GateDetectors detectors;  // of the options
};

[[nodiscard]] Result<gate::Policy> gate_policy(const Arguments& arguments);

// All but the revision, and what shows its progress.
[[nodiscard]] Result<GateSetup> gate_setup(const Arguments& arguments);

// The folder of a gate's evidence, made where no step of the workspace gets at it; what lies around
// it in the workspace is hidden from steps.
[[nodiscard]] Result<EvidenceFolder> make_evidence_folder(gate::Surroundings& surroundings,
                                                          const std::string& out);

// Knows the secrets of the caller, and those that the policy gives to its steps.
[[nodiscard]] Redaction redaction_for(const gate::Policy& policy);
[[nodiscard]] std::string today();

// `hermetic gate learn` and `hermetic gate simulate`.
[[nodiscard]] Result<int> gate_learn(const Arguments& arguments);
[[nodiscard]] Result<int> gate_simulate(const Arguments& arguments);

}  // namespace hermetic::cli
