// Placed path: "SRC:DST", a path of the host and where it stands inside; and a root in one word.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/spec/declaration.h"

namespace hermetic {

struct PlacedPath {
  std::string path;  // as it was written, perhaps relative
  std::string at;    // absolute and normal; "" if nothing was said

  friend bool operator==(const PlacedPath&, const PlacedPath&) = default;
};

// "\:" is a colon that belongs to a path, "\\" a backslash; before anything else a backslash is
// itself.
[[nodiscard]] Result<PlacedPath> parse_placed_path(std::string_view text);

// The tree at `declaration.path` as the whole file system of the command: an input as it is, a temp
// as a copy.
[[nodiscard]] Declaration as_root(Declaration declaration);

}  // namespace hermetic
