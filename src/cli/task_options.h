// The options of 'hermetic task', and what its parts share.
#pragma once

#include "cli/options.h"
#include "hermetic/task/task.h"

namespace hermetic::cli {

// What --repo, --sha, --task-id and the others say.
enum class NeedsId { Yes, No };
[[nodiscard]] Result<task::TaskRequest> task_request(const Arguments& arguments,
                                                     NeedsId needs_id = NeedsId::Yes);

// Fails if an option is given that "run", "batch", "snapshot" or "selftest" can do nothing with.
[[nodiscard]] Result<void> check_options_of_act(std::string_view act, const Arguments& arguments);

// Fails if it is said where packages are, and not which are wanted. The tasks of a batch may say
// so.
[[nodiscard]] Result<void> check_lockfile(const Arguments& arguments);

// hermetic task batch FILE: the tasks of a file, several at once.
[[nodiscard]] Result<int> task_batch(const Arguments& arguments);

// hermetic task selftest: two runs of one task must have the same hash and leave nothing.
[[nodiscard]] Result<int> task_selftest(const Arguments& arguments);

// Says which there are, if any; `repository` as the user named it.
void complain_of_missing_submodules(const std::vector<std::string>& names,
                                    const std::string& repository);

}  // namespace hermetic::cli
