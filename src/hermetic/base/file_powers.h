// File powers: what makes a program do more than its caller may: set-user-id and set-group-id bits,
// and capabilities; and what decides over files that others make later: a directory's default
// access control list, which stands in for their umask. Nothing that a command made keeps them.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic {

// Whether the file has capabilities, which a command can give to it only in a user namespace that
// it may make itself. A link is not followed.
[[nodiscard]] bool has_capabilities(int directory, const std::string& name);

// Whether the directory has a default access control list that is not that of `parent`, from which
// a new directory gets it.
[[nodiscard]] bool has_own_default_list(int parent, const std::string& name);

// Takes the powers from the file or directory, and leaves the other bits of its mode.
[[nodiscard]] Result<void> clear_powers(int directory, const std::string& name);

// The same for everything below an open directory, and for itself; devices that are no marks of a
// layer are removed. Fails, after it has done the rest, if directories are nested too deep.
[[nodiscard]] Result<void> clear_powers_in(int directory);

}  // namespace hermetic
