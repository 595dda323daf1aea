// Recovery: clears up after runs of this user that were killed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

// Something that a killed run has left behind, and what became of it.
struct Leftover {
  enum class Fate {
    Removed,    // what it had prepared
    Finished,   // it had published everything: what was there before is gone
    TakenBack,  // it was publishing: everything is as it was before
    Kept,       // `detail` says why; nothing of it was lost
  };

  Fate fate = Fate::Removed;
  std::string path;
  std::string detail;

  friend bool operator==(const Leftover&, const Leftover&) = default;
};
[[nodiscard]] std::string_view to_string(Leftover::Fate fate);  // "removed", "taken back"…

// Looks through a directory in which runs prepare outputs or keep journals. What a living run holds
// is not touched. Journals are followed only in the folders for them, which no command can write
// to; what looks like one elsewhere is kept, and told.
[[nodiscard]] Result<std::vector<Leftover>> recover_abandoned(const std::string& base);
[[nodiscard]] Result<std::vector<Leftover>> recover_abandoned(
    const std::string& base, const std::vector<std::string>& journal_folders);

}  // namespace hermetic
