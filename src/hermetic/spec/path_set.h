// PathSet: a set of paths, made of trees with exceptions, closed under union, intersection and
// difference.
//
// The set is held by its *boundaries*: the paths at which membership changes on the way down from
// the root. Everything below a boundary is like the boundary, until the next one. The boundaries of
// a set are unique, so that equal sets compare equal however they were made.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/spec/path_map.h"

namespace hermetic {

class PathSet {
 public:
  struct Boundary {
    std::string path;
    bool included;  // is `path`, and what follows below it, in the set?

    friend bool operator==(const Boundary&, const Boundary&) = default;
  };

  PathSet() = default;

  // All paths at and below `root`, less those at and below each exception. Normal paths only.
  static PathSet tree(std::string_view root, std::span<const std::string> exceptions = {});
  // The union of many sets at once, in one pass.
  static PathSet union_of(std::span<const PathSet> sets);

  [[nodiscard]] bool contains(std::string_view path) const;
  [[nodiscard]] bool empty() const { return boundaries_.empty(); }
  // Some path of the set, the first in path order; nothing if the set is empty.
  [[nodiscard]] std::optional<std::string> witness() const;
  // Sorted by compare_paths(), parents first.
  [[nodiscard]] const std::vector<Boundary>& boundaries() const { return boundaries_; }

  friend PathSet operator|(const PathSet& a, const PathSet& b);
  friend PathSet operator&(const PathSet& a, const PathSet& b);
  friend PathSet operator-(const PathSet& a, const PathSet& b);
  friend bool operator==(const PathSet& a, const PathSet& b) {
    return a.boundaries_ == b.boundaries_;
  }

 private:
  // `candidates` is sorted and holds every path at which membership can change.
  template <class Member>
  static PathSet from_candidates(const std::vector<std::string_view>& candidates, Member member);
  template <class Member>
  static PathSet combine(const PathSet& a, const PathSet& b, Member member);

  std::vector<Boundary> boundaries_;
  std::optional<PathMap<bool>> index_;  // only where there are too many boundaries to look at each
};

}  // namespace hermetic
