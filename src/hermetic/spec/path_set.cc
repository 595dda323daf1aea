#include "hermetic/spec/path_set.h"

#include <algorithm>
#include <iterator>

namespace hermetic {
namespace {

// A spec has a set for each declaration, and most of them are one tree with an exception or two.
constexpr std::size_t kFewBoundaries = 8;

}  // namespace

template <class Member>
PathSet PathSet::from_candidates(const std::vector<std::string_view>& candidates, Member member) {
  PathSet result;
  // Parents come first, so that the state on the way down to a candidate is known when it is
  // reached.
  std::vector<const Boundary*> open;
  result.boundaries_.reserve(candidates.size());  // keeps the pointers in `open` valid
  for (const std::string_view path : candidates) {
    while (!open.empty() && !is_within(path, open.back()->path)) open.pop_back();
    const bool above = !open.empty() && open.back()->included;
    const bool here = member(path);
    if (here == above) continue;
    result.boundaries_.push_back({std::string(path), here});
    open.push_back(&result.boundaries_.back());
  }
  if (result.boundaries_.size() <= kFewBoundaries) return result;
  result.index_.emplace();
  for (const Boundary& boundary : result.boundaries_)
    result.index_->set(boundary.path, boundary.included);
  return result;
}

template <class Member>
PathSet PathSet::combine(const PathSet& a, const PathSet& b, Member member) {
  std::vector<std::string_view> left(a.boundaries_.size());
  std::vector<std::string_view> right(b.boundaries_.size());
  const auto path_of = [](const Boundary& boundary) { return std::string_view(boundary.path); };
  std::transform(a.boundaries_.begin(), a.boundaries_.end(), left.begin(), path_of);
  std::transform(b.boundaries_.begin(), b.boundaries_.end(), right.begin(), path_of);
  std::vector<std::string_view> candidates;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(),
                 std::back_inserter(candidates), PathOrder{});
  return from_candidates(candidates, [&](std::string_view path) {
    return member(a.contains(path), b.contains(path));
  });
}

PathSet PathSet::tree(std::string_view root, std::span<const std::string> exceptions) {
  std::vector<std::string_view> candidates(exceptions.begin(), exceptions.end());
  std::sort(candidates.begin(), candidates.end(), PathOrder{});
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  // An exception at or above the root leaves nothing.
  for (const std::string_view exception : candidates)
    if (is_within(root, exception)) return {};
  std::erase_if(candidates, [&](std::string_view path) { return !is_within(path, root); });
  candidates.insert(candidates.begin(), root);
  return from_candidates(candidates, [&](std::string_view path) { return path == root; });
}

PathSet PathSet::union_of(std::span<const PathSet> sets) {
  std::vector<std::string_view> candidates;
  PathMap<std::vector<std::pair<std::uint32_t, bool>>> changes;
  for (std::uint32_t number = 0; number < sets.size(); ++number) {
    for (const Boundary& boundary : sets[number].boundaries_) {
      candidates.push_back(boundary.path);
      changes.slot(boundary.path).emplace_back(number, boundary.included);
    }
  }
  std::sort(candidates.begin(), candidates.end(), PathOrder{});
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::vector<std::uint32_t> holding;
  return from_candidates(candidates, [&](std::string_view path) {
    // The sets that hold `path`: each boundary on the way down switches one of them on or off.
    holding.clear();
    changes.for_each_above(path, [&](const auto& list) {
      for (const auto& [number, included] : list) {
        if (included)
          holding.push_back(number);
        else
          std::erase(holding, number);
      }
    });
    return !holding.empty();
  });
}

bool PathSet::contains(std::string_view path) const {
  if (index_) {
    const auto hit = index_->nearest(path);
    return hit && *hit->value;
  }
  // Parents come first, so that the last boundary above is the nearest.
  const auto nearest =
      std::find_if(boundaries_.rbegin(), boundaries_.rend(),
                   [&](const Boundary& boundary) { return is_within(path, boundary.path); });
  return nearest != boundaries_.rend() && nearest->included;
}

std::optional<std::string> PathSet::witness() const {
  // The first boundary switches membership on: above it nothing is in the set.
  if (boundaries_.empty()) return std::nullopt;
  return boundaries_.front().path;
}

PathSet operator|(const PathSet& a, const PathSet& b) {
  return PathSet::combine(a, b, [](bool in_a, bool in_b) { return in_a || in_b; });
}
PathSet operator&(const PathSet& a, const PathSet& b) {
  return PathSet::combine(a, b, [](bool in_a, bool in_b) { return in_a && in_b; });
}
PathSet operator-(const PathSet& a, const PathSet& b) {
  return PathSet::combine(a, b, [](bool in_a, bool in_b) { return in_a && !in_b; });
}

}  // namespace hermetic
