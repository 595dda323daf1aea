// Snapshots: what a setup command has made of a task, frozen, for any number of tasks to start
// from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/workspace/cache.h"

namespace hermetic::task {

// What the layers of a snapshot lie over. Over anything else they mean nothing.
struct Ground {
  std::string commit;
  std::string directories;         // of a sparse checkout; "" if all are there
  std::string missing_submodules;  // as in Checkout
  std::string environment;         // its hash
  std::string packages;            // the hash of the node environment, or ""
};

struct Snapshot {
  // What it froze, then what the one froze that it was made over, and so on. Each tree has
  // 'worktree', 'venv' and 'scratch'.
  std::vector<CachedTree> layers;
  std::vector<std::string> keys;  // of the layers, in the cache
  std::string hash;               // which task made it, and what came of it: all of its layers
};

// What commands have changed in the "worktree", the "venv" or the "scratch" folder of a run.
[[nodiscard]] std::string changes_of(const std::string& run_folder, std::string_view part);

// Moves the changes out of a run's folder into the cache. `hash` says which task made them, and
// what they are; `over` is the snapshot that the task has started from, if it has. A name that is
// there already leads to the new one from now on.
[[nodiscard]] Result<void> keep_snapshot(const std::string& name, const std::string& hash,
                                         const std::string& run_folder, const Ground& ground,
                                         const Snapshot* over, Cache& cache);

// With all that it lies over. Fails, naming what differs, unless it was made over the very same
// ground.
[[nodiscard]] Result<Snapshot> find_snapshot(const std::string& name, const Ground& ground,
                                             Cache& cache);

// What a snapshot is and what it lies over, as a text that is the same for equal ones.
[[nodiscard]] std::string facts_of(const Snapshot& snapshot);
[[nodiscard]] Result<std::string> facts_of_snapshot(const std::string& name, Cache& cache);

}  // namespace hermetic::task
