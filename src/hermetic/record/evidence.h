// What a folder of evidence holds, and how it is written. docs/reference/evidence.md describes it.
#pragma once

#include <string>

#include "hermetic/record/evidence_folder.h"
#include "hermetic/record/report.h"
#include "hermetic/record/signing_key.h"

namespace hermetic {

// The files of one run, all but events.jsonl, which is written while it runs. `prefix` is "" or
// "logs/STEP/".
[[nodiscard]] Result<void> write_run_files(EvidenceFolder& folder, const std::string& prefix,
                                           const ReportStep& step,
                                           const std::vector<InputDigest>& inputs,
                                           const Redaction& redaction);

// The reports of all steps, then the attestations, then the list of all files, signed. `stable` is
// the name of the stable part, which is there already. Without a key, nothing is signed.
[[nodiscard]] Result<void> write_conclusion(EvidenceFolder& folder, const Report& report,
                                            const std::string& stable, nlohmann::json rest,
                                            const SigningKey* key, const Redaction& redaction);

}  // namespace hermetic
