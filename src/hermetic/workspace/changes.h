// Changes: what a run did to a tree of layers, read from the place that took it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

struct Change {
  enum class Kind { Added, Modified, Removed };

  Kind kind = Kind::Added;
  std::string path;   // relative
  std::string type;   // "file", "directory", "link", "other"; of what is there now, or was
  unsigned mode = 0;  // permissions; 0 of what was removed
  std::uint64_t size_bytes = 0;
  std::string digest;     // SHA-256 of a file, or of the text of a link; "" if it cannot be read
  bool unlisted = false;  // a directory that lies too deep to be looked into

  friend bool operator==(const Change&, const Change&) = default;
};
[[nodiscard]] std::string_view to_string(Change::Kind kind);  // "added", "modified", "removed"

// Of paths that are told: a command can make names that take more room than all its files.
inline constexpr std::size_t kMostListedBytes = std::size_t{64} << 20U;

// `upper` is what a layered temp has kept over `layers`, the first uppermost. Sorted by path. What
// was only touched, or changed and changed back, is no change. `skip` are names at the top that are
// not looked at. Directories that lie too deep, or whose names together are too long for the
// kernel, are told and marked as unlisted; so is "." if there is more than can be told.
[[nodiscard]] Result<std::vector<Change>> changes_in(const std::string& upper,
                                                     const std::vector<std::string>& layers,
                                                     const std::vector<std::string>& skip = {});

}  // namespace hermetic
