// Private folders: directories of this user's runs, known by their names and locked while in use.
#pragma once

#include <functional>
#include <string>

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
// Whoever can lock a folder may remove it, however young it is. So the maker does not believe that
// it has one until it holds the lock and has made an entry, which fails in a folder that is gone;
// else it makes another.
using FillFolder = std::function<Result<void>(const PrivateFolder& folder)>;
[[nodiscard]] Result<PrivateFolder> make_private_folder(const std::string& base,
                                                        const FillFolder& fill);

// Locks a folder that somebody has left. False if it is in use, or gone since it was opened.
[[nodiscard]] bool lock_abandoned(int folder);

}  // namespace hermetic
