// The sandboxes that doctor makes to try what this host can keep: one for all that every run is
// promised, and one for each promise that a spec must ask for.
#pragma once

#include <map>
#include <string>

#include "hermetic/record/examination.h"
#include "hermetic/run/backend.h"

namespace hermetic::cli {

// By the name of the clause. An error means that no sandbox can be made here at all.
[[nodiscard]] Result<std::map<std::string, ProbeResult>> try_clauses(Backend& backend);

// The kernel fact that inputs rest on: one call makes a tree and what is mounted below it read
// only. Tried with two file systems of our own, in namespaces of a child process.
[[nodiscard]] std::string try_recursive_read_only();

}  // namespace hermetic::cli
