// What a learned spec never gives away by itself: names that usually hold keys and passwords.
#pragma once

#include <string_view>

namespace hermetic {

// Does a file or directory of this name, wherever it stands, usually hold a secret? Every directory
// above it counts, too: all of ~/.ssh is one.
[[nodiscard]] bool is_secret_path(std::string_view path);

// The same of this last component alone.
[[nodiscard]] bool is_secret_name(std::string_view name);

// TOKEN, SECRET, PASSWORD and the like in the name of a variable.
[[nodiscard]] bool is_secret_variable(std::string_view name);

}  // namespace hermetic
