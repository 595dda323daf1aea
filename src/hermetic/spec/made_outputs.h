// Outputs that the command makes itself: what a spec must fulfil for them, and the private
// directories in which they are made.
#pragma once

#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Entries of a directory of the host that are shown one by one.
inline constexpr std::size_t kMostChildren = 4096;

// Finds the parent directory of an output that the command makes, and refuses what cannot be made
// in one.
[[nodiscard]] Result<void> look_up_maker_directory(Tree& tree, const Lookup& lookup);

// One temp for each directory in which outputs are made. It holds what nothing else declares there.
[[nodiscard]] std::vector<Tree> maker_directories(const std::vector<Tree>& trees);

// What is declared below such a directory is not part of it.
void except_declared(Tree& maker, const std::vector<Tree>& trees);

// What can only be told once the sets are known.
[[nodiscard]] Result<void> check_made_outputs(const Spec& spec, const Origin& directory);

}  // namespace hermetic
