// Mirror: a second copy of a worktree, kept like the first between commands, so that a caller can
// work in one while commands that are not trusted work in the other.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "hermetic/base/result.h"

namespace hermetic {

// The inner tree is the one that commands change, the outer one is the caller's. Files, directories
// and links are carried over; pipes, sockets and devices are not, and neither is anything named
// '.git' in whatever letters: git runs programs that a repository names, so a repository that a
// command can write to must not be where the caller runs git. No link is followed. What lies more
// than 200 directories deep is not carried over. A file with several names has them on the other
// side, too: a copy for each could take a thousand times the room.
//
// If both have changed a file since the last time, the caller's stays.
class Mirror {
 public:
  // Both are directories that are there.
  Mirror(std::string inner, std::string outer);

  // Makes the outer tree like the inner one. No command runs.
  [[nodiscard]] Result<void> bring_out();
  // Makes the inner tree like the outer one. No command runs.
  [[nodiscard]] Result<void> bring_in();

 private:
  // What tells that an entry was changed: the kernel sets the time of change.
  struct Stamp {
    mode_t mode = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified = {};
    std::optional<timespec> changed = {};  // nothing: it tells nothing
    nlink_t names = 0;                     // which may change without the entry; not compared

    bool operator==(const Stamp& other) const;
  };
  struct Entry {
    Stamp inner;
    Stamp outer;
    std::map<std::string, Entry> below;  // of a directory
  };
  using Entries = std::map<std::string, Entry>;

  // One direction.
  class Transfer;

  std::string inner_;
  std::string outer_;
  Entries known_;  // as both were when they were alike
};

}  // namespace hermetic
