// Place: where a declared tree stands inside, and what a name inside is on the host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/spec/spec.h"

namespace hermetic {

// Where the declaration says that its tree stands. The tree of one without `at` stands at its real
// path, which only a lookup tells.
[[nodiscard]] inline const std::string& declared_place(const Declaration& declaration) {
  return declaration.at.empty() ? declaration.path : declaration.at;
}

// What `inside`, which lies in the tree, is on the host; and the other way round.
[[nodiscard]] std::string host_name(const Tree& tree, std::string_view inside);
[[nodiscard]] std::string inside_name(const Tree& tree, std::string_view real_path);

// Takes what every sandbox has of its own (/dev, /proc, /sys, /tmp) out of an input around it:
// what would stand at these places inside, and the host's own under whatever name.
void hide_built_in(Tree& tree);

// Is this tree all of the sandbox's file system: what the host has at "/" does not stand there?
[[nodiscard]] bool is_root_of_its_own(const Tree& tree);

// A root of its own is under all the rest, which is taken out of it: of one that is an input what
// is written, of a copy everything.
[[nodiscard]] bool stands_on(const Tree& tree, const Tree& root);
void make_room(std::vector<Tree>& trees);

// Does `inner`, an input whose place lies in the input `outer`, show what stands there anyway?
[[nodiscard]] bool is_repeated(const Tree& inner, const Tree& outer);

}  // namespace hermetic
