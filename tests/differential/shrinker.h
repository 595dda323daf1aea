// Shrinker: from a case that disagrees to a small one that still does.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "tests/differential/compare.h"

namespace hermetic::differential {

// Takes away one thing after the other as long as it does.
class Shrinker {
 public:
  Shrinker(Comparer& comparer, Case found) : comparer_(comparer), best_(std::move(found)) {}

  Case shrink() {
    if (Comparison comparison = comparer_.compare(best_); !comparison.paths.empty()) {
      Case smaller = best_;
      smaller.paths = {comparison.paths.front()};
      (void)keep(std::move(smaller));
    }
    while (attempts_ < kMostAttempts && shrink_once()) {
    }
    return best_;
  }

 private:
  static constexpr int kMostAttempts = 500;

  bool keep(Case smaller) {
    ++attempts_;
    const Comparison comparison = comparer_.compare(smaller);
    if (comparison.refused || comparison.disagreements.empty()) return false;
    best_ = std::move(smaller);
    return true;
  }

  // The last items first: they do not carry others.
  template <class List>
  bool drop_from(List Case::*list) {
    bool dropped = false;
    for (std::size_t i = (best_.*list).size(); i > 0; --i) {
      Case smaller = best_;
      (smaller.*list).erase((smaller.*list).begin() + static_cast<std::ptrdiff_t>(i) - 1);
      dropped = keep(std::move(smaller)) || dropped;
    }
    return dropped;
  }

  bool simplify(const std::function<bool(Case&)>& change) {
    Case smaller = best_;
    return change(smaller) && keep(std::move(smaller));
  }

  bool shrink_declaration(std::size_t i) {
    bool changed = false;
    for (std::size_t hole = best_.declarations[i].exceptions.size(); hole > 0; --hole)
      changed = simplify([&](Case& smaller) {
                  auto& exceptions = smaller.declarations[i].exceptions;
                  exceptions.erase(exceptions.begin() + static_cast<std::ptrdiff_t>(hole) - 1);
                  return true;
                }) ||
                changed;
    const auto set = [&](auto Declaration::*member, auto plain) {
      changed = simplify([&](Case& smaller) {
                  return std::exchange(smaller.declarations[i].*member, plain) != plain;
                }) ||
                changed;
    };
    set(&Declaration::publish, Publish::Replace);
    set(&Declaration::type, FileType::Unknown);
    set(&Declaration::made_by_command, false);
    return changed;
  }

  bool shrink_once() {
    bool changed = drop_from(&Case::declarations);
    changed = drop_from(&Case::nodes) || changed;
    for (std::size_t i = 0; i < best_.declarations.size(); ++i)
      changed = shrink_declaration(i) || changed;
    const auto set = [&](bool Case::*member, bool plain) {
      changed =
          simplify([&](Case& smaller) { return std::exchange(smaller.*member, plain) != plain; }) ||
          changed;
    };
    set(&Case::strict_outputs, false);
    set(&Case::identity_root, false);
    set(&Case::classic_mounts, false);
    set(&Case::landlock, true);
    return changed;
  }

  Comparer& comparer_;
  Case best_;
  int attempts_ = 0;
};

}  // namespace hermetic::differential
