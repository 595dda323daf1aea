// Listings: the directories of inputs that must be shown entry by entry, because a place that is
// not there is needed in them. The host gets no mount points.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "hermetic/spec/path_map.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// Fills in Tree::listings. `places` holds the numbers of the trees by where they stand. Fails if a
// place cannot be had: a symbolic link or a file stands on the way, or it is missing in an output
// that is changed in place. Asks the objects that were looked up, and no name.
[[nodiscard]] Result<void> add_listings(std::vector<Tree>& trees,
                                        const PathMap<std::vector<std::size_t>>& places);

// Where the command makes outputs, in a directory that the host shows as an input: its entries are
// shown one by one in a private one, where names can be added. Links in it are copies.
[[nodiscard]] Result<void> list_around_made(
    Tree& maker, const std::function<bool(std::string_view path)>& is_input);

}  // namespace hermetic
