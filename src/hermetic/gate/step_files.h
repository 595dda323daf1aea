// The files that a step leaves in the evidence of a gate: logs/STEP/…
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/gate/judge.h"
#include "hermetic/gate/step_spec.h"
#include "hermetic/record/evidence_folder.h"
#include "hermetic/record/report.h"

namespace hermetic::gate {

struct StepFacts {
  const Policy& policy;
  const Step& step;
  const Spec& spec;
  const StepEnvironment& environment;
};

// Fills in the manifest and writes it with all else that is known about the run.
[[nodiscard]] Result<void> write_step_files(EvidenceFolder& folder, const std::string& prefix,
                                            const StepFacts& facts, ReportStep& report,
                                            const Redaction& redaction);

// logs/STEP/network.json, read back; `file` is for the error.
[[nodiscard]] Result<std::vector<NetworkAct>> read_network_acts(const std::string& file);

}  // namespace hermetic::gate
