// Staging: the fresh private trees that stand in for a run's outputs until it has succeeded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/outputs/change_places.h"
#include "hermetic/plan/plan.h"

namespace hermetic {

// One output's tree: the entry "tree" of a private directory.
struct StagedOutput {
  Publication publication;
  std::string directory;  // "/var/tmp/.hermetic-1000-Xy12Ab"; holds an entry "tree"
  UniqueFd descriptor;    // of `directory`

  [[nodiscard]] std::string tree() const { return directory + "/tree"; }
};

// A directory in which the command makes outputs: the entry "tree" of a private directory. What is
// not an output is thrown away with it.
struct MakerDirectory {
  std::string path;       // inside
  std::string directory;  // "/var/tmp/.hermetic-1000-Xy12Ab"
  UniqueFd descriptor;    // of `directory`

  [[nodiscard]] std::string tree() const { return directory + "/tree"; }
};

// Owns the trees, and holds the places for changes: whatever is still there when it goes is
// removed.
class Staging {
 public:
  // Makes a tree for each publication, where the command cannot see it and, if possible, on the
  // mount of its destination, so that publishing is a rename. Before that it clears up after runs
  // that were killed: a destination may be half published.
  static Result<Staging> make(const Plan& plan, Layering layering = Layering::Overlay);

  Staging() = default;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  Staging(Staging&&) noexcept = default;
  Staging& operator=(Staging&&) noexcept = default;
  ~Staging();

  [[nodiscard]] const std::vector<StagedOutput>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<MakerDirectory>& maker_directories() const { return makers_; }

  // When no process of the run is left: outputs that the command has made become the trees of
  // theirs. Fails if one is not there, or is not what was declared; the others are taken first.
  [[nodiscard]] Result<void> take_what_was_made();

  [[nodiscard]] const ChangePlaces& changes() const { return places_; }

  // Lets the trees be: they hold what could not be put back. A journal takes care of them.
  void abandon() { outputs_.clear(); }

 private:
  std::vector<StagedOutput> outputs_;
  std::vector<MakerDirectory> makers_;
  ChangePlaces places_;
};

}  // namespace hermetic
