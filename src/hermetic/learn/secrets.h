// What a learned spec never gives away by itself: names that usually hold keys and passwords.
#pragma once

#include <string_view>

namespace hermetic {

// Does a file or directory of this name, wherever it stands, usually hold a secret? Every directory
// above it counts, too: all of ~/.ssh is one.
[[nodiscard]] bool is_secret_path(std::string_view path);

// The same by whole names only: toolchains come with keys for their own tests, which end in .pem.
[[nodiscard]] bool is_secret_in_toolchain(std::string_view path);

}  // namespace hermetic
