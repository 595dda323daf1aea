// The proof that inputs, outputs and temps have nothing in common.
#pragma once

#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Inside: as names and, after links were followed, as real paths. Pure.
[[nodiscard]] Result<void> check_names_disjoint(const std::vector<Tree>& trees);
[[nodiscard]] Result<void> check_real_paths_disjoint(const std::vector<Tree>& trees);
// On the host, if a tree stands elsewhere inside; and no two stand at one place.
[[nodiscard]] Result<void> check_placed_trees(const std::vector<Tree>& trees);
// The same for trees of which no names were compared.
[[nodiscard]] Result<void> check_host_trees_disjoint(const std::vector<Tree>& trees);

// As objects: the same directory under two names (bind mounts), and hard links between an output
// that is changed in place and an input. Asks this host.
[[nodiscard]] Result<void> check_objects_disjoint(const std::vector<Tree>& trees);

}  // namespace hermetic
