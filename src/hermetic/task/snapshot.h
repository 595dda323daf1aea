// Snapshots: what a setup command has made of a task, frozen, for any number of tasks to start
// from.
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/task/checkout.h"
#include "hermetic/task/python_environment.h"
#include "hermetic/workspace/cache.h"

namespace hermetic::task {

// Moves the changes out of a run's folder into the cache: its tree has 'worktree', 'venv' and
// 'scratch'. `hash` says which task made them, and what they are. A name that is there already
// leads to the new one from now on.
[[nodiscard]] Result<void> keep_snapshot(const std::string& name, const std::string& hash,
                                         const std::string& run_folder, const Checkout& checkout,
                                         const PythonEnvironment& environment, Cache& cache);

// Fails unless it was made over the very same checkout and environment.
[[nodiscard]] Result<CachedTree> find_snapshot(const std::string& name, const Checkout& checkout,
                                               const PythonEnvironment& environment, Cache& cache);

// What a snapshot is and what it lies over, as a text that is the same for equal ones.
[[nodiscard]] Result<std::string> facts_of_snapshot(const std::string& name, Cache& cache);

}  // namespace hermetic::task
