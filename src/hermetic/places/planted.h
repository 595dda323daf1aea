// Planted objects: what another user may have put where the caller wants something written.
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/spec/lookup.h"

namespace hermetic {

// Fails if another user than root has put `link` where users make files beside those of others.
// Linux does not follow such a link either, where it is told to protect its users
// (protected_symlinks in proc(5)). `path` is the place that is looked for.
[[nodiscard]] Result<void> check_not_planted(const Link& link, const std::string& path);

// Fails if such a user has made what is at the place, or a link on the way to it that leads out of
// what is the user's own. `directory` is the deepest one on the way that exists.
[[nodiscard]] Result<void> check_not_planted(const Found& place, int directory,
                                             const std::string& path);

}  // namespace hermetic
