// The acts that doctor tries inside a sandbox: each should fail, and says which clause it speaks
// for.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/record/examination.h"

namespace hermetic::cli {

// Makes the files that the acts are aimed at, and leaves a descriptor open that must not be passed
// on.
[[nodiscard]] Result<void> prepare_probes(const std::string& directory);

// Inside: tries what `act` names, "usual" or a clause, and returns one line per clause: name,
// "held" or "broken", detail. "wait" never returns.
[[nodiscard]] std::string run_probes(const std::string& directory, const std::string& act);

// By the name of the clause.
[[nodiscard]] std::map<std::string, ProbeResult> parse_probe_results(std::string_view text);

}  // namespace hermetic::cli
