// Change places: the directories that take what a command changes in a layered temp.
#pragma once

#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/plan/plan.h"

namespace hermetic {

// In each place, 'upper' holds what is changed, from one run to the next, and 'work' is the file
// system's own while a run lasts. Names of its own, so that nobody else's files are taken for it.
inline constexpr const char* kUpper = "upper";
inline constexpr const char* kWork = "work";

// Locks the places, so that no two runs change one at a time. Owns 'work': it goes with the run.
class ChangePlaces {
 public:
  static Result<ChangePlaces> make(const Plan& plan);

  ChangePlaces() = default;
  ChangePlaces(const ChangePlaces&) = delete;
  ChangePlaces& operator=(const ChangePlaces&) = delete;
  ChangePlaces(ChangePlaces&&) noexcept = default;
  ChangePlaces& operator=(ChangePlaces&&) noexcept = default;
  ~ChangePlaces();

 private:
  std::vector<UniqueFd> places_;
};

}  // namespace hermetic
