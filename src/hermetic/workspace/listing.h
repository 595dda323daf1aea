// Listings: which files a run has left in a layered temp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

struct ListedFile {
  std::string path;  // relative
  std::uint64_t size_bytes = 0;
  bool unlisted = false;  // a directory that lies too deep to be looked into
};

// What `upper` and the layers that it was kept over, the first uppermost, show together, sorted in
// each directory by name. If there is more than can be told, "." is marked as unlisted.
[[nodiscard]] Result<std::vector<ListedFile>> list_layers(const std::string& upper,
                                                          const std::vector<std::string>& layers);

}  // namespace hermetic
