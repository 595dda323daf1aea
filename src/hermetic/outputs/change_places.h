// Change places: the directories that take what a command changes in a layered temp.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/places/private_folder.h"
#include "hermetic/plan/plan.h"

namespace hermetic {

// In each place, 'upper' holds what is changed, from one run to the next, and 'work' is the file
// system's own while a run lasts. Names of its own, so that nobody else's files are taken for it.
inline constexpr const char* kUpper = "upper";
inline constexpr const char* kWork = "work";

// What stands between a command and the layers that it must not change.
enum class Layering {
  Overlay,        // the overlay file system
  OverlayOnDisk,  // the same for changes that have a place; those in memory would lack its marks
  Copy,           // a copy of every file, in 'upper'
};

// Locks the places, so that no two runs change one at a time. Owns 'work', and the places that
// nobody named: they go with the run.
class ChangePlaces {
 public:
  struct Place {
    std::string temp;        // the path inside
    std::string upper;       // on the host
    UniqueFd directory;      // that it is in
    PrivateFolder own = {};  // if nobody named one
  };

  static Result<ChangePlaces> make(const Plan& plan, Layering layering);

  ChangePlaces() = default;
  ChangePlaces(const ChangePlaces&) = delete;
  ChangePlaces& operator=(const ChangePlaces&) = delete;
  ChangePlaces(ChangePlaces&&) noexcept = default;
  ChangePlaces& operator=(ChangePlaces&&) noexcept = default;
  ~ChangePlaces();

  // Those that hold a copy: it is shown instead of the layers.
  [[nodiscard]] const std::vector<Place>& copies() const { return copies_; }

 private:
  std::vector<UniqueFd> places_;
  std::vector<Place> copies_;
};

}  // namespace hermetic
