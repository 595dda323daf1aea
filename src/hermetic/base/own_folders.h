// Own folders: where hermetic keeps, on the host, what later runs of the same user believe. No
// command may write there.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace hermetic {

// Outputs are prepared there, unless that is elsewhere than their destination, and journals of
// publications are kept in the first that can be written to.
inline constexpr std::array<const char*, 2> kTemporaryFolders = {"/var/tmp", "/tmp"};

// How the names of what is made in them, and beside outputs, begin.
inline constexpr std::string_view kOwnNames = ".hermetic-";

// HERMETIC_CACHE, or 'hermetic' in XDG_CACHE_HOME or ~/.cache; there need not be one. Its trees,
// and its lists of folders to be removed, are taken for its user's own.
[[nodiscard]] std::string usual_cache_path();

}  // namespace hermetic
