// Digests of what is in the file system, in the form that docs/reference/outcome.md describes.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/digest.h"
#include "hermetic/base/result.h"

namespace hermetic {

// SHA-256 of what the descriptor gives until its end; `path` is for the error.
[[nodiscard]] Result<std::string> digest_of_file(int descriptor, std::string_view path);

// SHA-256 of the text of a symbolic link.
[[nodiscard]] Result<std::string> digest_of_link(int parent, const std::string& name,
                                                 std::string_view path);

// The listing of a directory, entry by entry in the order of their names. `line` is kind and
// digest.
class ListingDigest {
 public:
  void add(std::string_view line, std::string_view name);
  [[nodiscard]] std::string finish() { return hash_.finish(); }  // once

 private:
  Sha256 hash_;
};

}  // namespace hermetic
