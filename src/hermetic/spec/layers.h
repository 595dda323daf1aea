// Layers: the directories that a temp starts as, and the one that takes what is changed.
#pragma once

#include <vector>

#include "hermetic/spec/spec.h"

namespace hermetic {

// Makes the paths of `over` and `changes` normal, and refuses what cannot be had together with
// them.
[[nodiscard]] Result<void> normalise_layers(Declaration& declaration);

// Fills in Tree::over and Tree::changes.
[[nodiscard]] Result<void> look_up_layers(Tree& tree, const Lookup& lookup);

// The trees of the host that are read or written: layers are inputs under another name, the place
// for changes is an output that is changed in place, and a temp itself is none.
[[nodiscard]] std::vector<Tree> with_layers(const std::vector<Tree>& trees);

// Fails unless nothing else can be declared for a part of a layered temp, nothing that the command
// writes is a layer, and nothing shows the changes in the making.
[[nodiscard]] Result<void> check_layers_disjoint(const std::vector<Tree>& trees);

}  // namespace hermetic
