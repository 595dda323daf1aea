// Absolute path names as text: the arithmetic that needs no file system.
//
// A *normal* path starts with '/', has no empty, "." or ".." component and no trailing '/' (but for
// "/" itself). Everything beyond base deals in normal paths only.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"

namespace hermetic {

// Cuts "//" , "/./" and a trailing "/". Refuses, with a remedy, what has no single meaning: an
// empty or relative path, "..", a NUL byte, text that is not UTF-8, and more than 4095 bytes.
[[nodiscard]] Result<std::string> normal_path(std::string_view text);

// All of the following take normal paths.
[[nodiscard]] std::string join(std::string_view directory, std::string_view relative);
[[nodiscard]] std::string_view parent_of(std::string_view path);             // "/" for "/"
[[nodiscard]] std::string_view last_component(std::string_view path);        // "" for "/"
[[nodiscard]] bool is_within(std::string_view path, std::string_view tree);  // or the same
[[nodiscard]] bool is_strictly_within(std::string_view path, std::string_view tree);
// "b/c" for ("/a/b/c", "/a"); "" when they are the same. `path` must be within `tree`.
[[nodiscard]] std::string_view relative_to(std::string_view path, std::string_view tree);

// Compares component by component, so that a tree's paths are neighbours and parents come first:
// "/a" < "/a/b" < "/a-b", which plain text order does not give.
[[nodiscard]] std::strong_ordering compare_paths(std::string_view a, std::string_view b);
struct PathOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return compare_paths(a, b) < 0; }
};

// Walks the components of a normal path from the root: for (Components c(path); c.next();)
// c.name().
class Components {
 public:
  explicit Components(std::string_view path) : path_(path) {}

  bool next();
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::string_view prefix() const { return path_.substr(0, end_); }  // up to name()

 private:
  std::string_view path_;
  std::string_view name_;
  std::size_t end_ = 0;
};

}  // namespace hermetic
