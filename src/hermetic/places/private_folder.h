// Private folders: directories of this user's runs, known by their names and locked while in use.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

struct PrivateFolder {
  std::string path;     // "/var/tmp/.hermetic-1000-Xy12Ab"
  UniqueFd descriptor;  // holds the lock
};

// ".hermetic-1000-": how the names of this user's folders begin.
[[nodiscard]] std::string private_folder_prefix();

// Makes one in `base`, with mode 0700, and locks it. `fill` puts the first entry into it.
//
// Its name cannot be guessed, it is made and never found, and what is opened afterwards is held
// against what was made: in a directory that others can write to, it is still this user's.
//
// A process that can lock a folder may remove it, however young it is. So the maker does not
// believe that it has one until it holds the lock and has made an entry, which fails in a folder
// that is gone; else it makes another.
using FillFolder = std::function<Result<void>(const PrivateFolder& folder)>;
[[nodiscard]] Result<PrivateFolder> make_private_folder(const std::string& base,
                                                        const FillFolder& fill);
// The same in a directory that is open; `path` is where it lies. Names of one `kind` begin alike.
[[nodiscard]] Result<PrivateFolder> make_private_folder(int base, const std::string& path,
                                                        std::string_view kind,
                                                        const FillFolder& fill);

// Locks a folder that somebody has left. False if it is in use, or gone since it was opened.
[[nodiscard]] bool lock_abandoned(int folder);

// Removes the folders of one kind that killed runs have left in an open directory, with all that is
// in them, and names them.
std::vector<std::string> remove_abandoned_folders(int base, const std::string& path,
                                                  std::string_view kind);

}  // namespace hermetic
