// PinnedDirectories: the directories of outputs and temps that must stay where they are.
//
// What is mounted inside a writable tree moves with a directory around it, and something else could
// then be made under its name: an exception of an output in place would be moved out of the way. A
// directory that is a mount point itself can neither be moved nor removed, so each directory on the
// way from a writable tree to what is mounted inside it is bound to itself.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/plan/plan.h"

namespace hermetic::linux_backend {

class PinnedDirectories {
 public:
  // `view` must outlive this.
  explicit PinnedDirectories(const std::vector<ViewEntry>& view);

  // Those above `entry` that were not given before, parents first.
  [[nodiscard]] std::vector<std::string> above(const ViewEntry& entry);

 private:
  std::set<std::string_view> writable_;  // outputs and temps
  std::set<std::string_view> others_;    // what else is there, but for directories on the way
  std::set<std::string, std::less<>> given_;
};

}  // namespace hermetic::linux_backend
