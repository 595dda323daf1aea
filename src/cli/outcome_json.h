// The outcome of a run for programs: docs/reference/outcome.schema.json is its contract.
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/engine/execute.h"

namespace hermetic::cli {

[[nodiscard]] std::string outcome_as_json(const Finished& finished, OnViolation on_violation);

// Writes a file under a temporary name and renames it, so that nobody ever reads half of it.
[[nodiscard]] Result<void> write_file_whole(const std::string& path, std::string_view text);

}  // namespace hermetic::cli
