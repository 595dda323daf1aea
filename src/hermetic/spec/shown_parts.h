// Shown parts: which parts of which file systems a declared tree shows, so that one object is found
// under all its names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hermetic/spec/mount_table.h"
#include "hermetic/spec/path_set.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// What one tree holds in one space of names.
struct Region {
  const Tree* tree;
  PathSet paths;  // a tree with exceptions
  std::string
      name;  // the real path of its root; the same as the root but in a file system's own names
};

// By device: "8:1".
using ShownParts = std::map<std::string, std::vector<Region>>;

// The parts of file systems that a tree shows: its own, and those mounted below it.
void add_shown_parts(const Tree& tree, const MountTable& mounts, ShownParts& parts);

// Where an object lies in its file system; a path that does not exist yet, where it will.
[[nodiscard]] FilesystemPath place_of(const Found& found, const MountTable& mounts);

// "input '/w' (a.yaml:3)"
[[nodiscard]] std::string describe(const Declaration& declaration);

}  // namespace hermetic
