// The words that the rules of learning share: which places are special.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/learn/generalise.h"
#include "hermetic/learn/observation.h"

namespace hermetic {

// How many files of a directory are named one by one before the directory is declared instead.
inline constexpr std::size_t kFewFiles = 3;

// In every sandbox: devices, /proc, and the few files that hermetic writes itself. Also /sys, which
// is not there.
[[nodiscard]] bool is_built_in(std::string_view path);

// Too much to be declared as a whole: /, /etc, the home directory…
[[nodiscard]] bool is_broad(std::string_view path, const Observation& observation);

// /tmp and $TMPDIR, unless the command was started in there.
[[nodiscard]] bool is_in_temporary(std::string_view path, const Observation& observation);

// Caches, histories and other state below the home directory that programs make anew.
[[nodiscard]] bool is_user_state(std::string_view path, const Observation& observation);

// Did the run make it, or a directory above it, where nothing was?
[[nodiscard]] bool is_made_by_run(const std::string& path, const Observation& observation);

// Does the command line name it?
[[nodiscard]] bool is_named_by_command(std::string_view path, const Observation& observation);

// Everything that was written: outputs and temps.
struct Written {
  std::vector<LearnedTree> trees;
  std::vector<std::string> notes;
  bool bytecode = false;  // Python wanted to keep its compiled modules
};
[[nodiscard]] Written place_written(const Observation& observation,
                                    const Surroundings& surroundings, Results results);

// Everything that was read, but for what lies in `written`.
struct Needed {
  std::vector<LearnedTree> trees;
  std::vector<std::string> notes;
  std::set<std::string> withheld;  // looks like secrets
};
[[nodiscard]] Needed gather_needed(const Observation& observation, const Surroundings& surroundings,
                                   const std::vector<LearnedTree>& written);

// Names in a tree that look like secrets; not in what follows a link, and not in very large trees
// to the end. With a toolchain, only what is one there, too.
[[nodiscard]] std::vector<std::string> secrets_below(const std::string& top,
                                                     const Surroundings& surroundings,
                                                     bool toolchain = false);

}  // namespace hermetic
