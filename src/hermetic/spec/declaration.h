// Declaration: one tree of paths given to the command, and where that was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/error.h"

namespace hermetic {

enum class TreeKind {
  Input,   // I: read only
  Output,  // O: written by the run, published when it succeeds
  Temp,    // T: read and written, then thrown away
};
[[nodiscard]] std::string_view to_string(TreeKind kind);  // "input", "output", "temp"

// What an output is before the run, and what happens to it afterwards.
enum class Publish {
  Replace,  // starts empty; afterwards the path holds exactly what the run produced
  Merge,    // starts empty; afterwards what was there before stays, besides what the run produced
  InPlace,  // the existing content is visible and changed directly: weaker, and the plan says so
};
[[nodiscard]] std::string_view to_string(Publish publish);  // "replace", "merge", "in_place"

enum class FileType { Unknown, Directory, File };
[[nodiscard]] std::string_view to_string(FileType type);  // "unknown", "directory", "file"

// The set of all paths at and below `path`, less those at and below each exception.
struct Declaration {
  TreeKind kind = TreeKind::Input;
  std::string path;                     // absolute; normal once the spec is built
  std::vector<std::string> exceptions;  // strictly within `at`, or `path`; sorted once it is built
  Publish publish = Publish::Replace;   // of outputs only
  FileType type = FileType::Unknown;  // of outputs and temps: what to make if nothing is there yet

  // Of outputs and temps: nothing is there when the command starts, which makes it itself, by
  // whatever means. What else it makes in the parent directory is private and thrown away.
  bool made_by_command = false;

  // Of temps only: the directories whose content it starts with, the first uppermost. They are
  // never changed: what the command does to them goes elsewhere.
  std::vector<std::string> over = {};
  // Where that is kept when the run has ended, in 'upper'; empty: nowhere. Nothing that the command
  // can tell, and so not part of the value.
  std::string changes = {};

  // Where the tree stands inside; empty: where it lies on the host. No link of the host leads
  // there. Exceptions are then names inside. A temp is nothing on the host: its `path` is this one.
  std::string at = {};

  Origin origin = {};  // not part of the value: two specs may say the same elsewhere
};

}  // namespace hermetic
