// Secrets that are known by their looks: tokens of well-known services, private keys, and what
// follows "--password", "Authorization:" or "user:" in an address.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "hermetic/record/secret_values.h"

namespace hermetic {

// In any order; they may overlap. Takes time in proportion to the text.
[[nodiscard]] std::vector<SecretSpan> find_secret_shapes(std::string_view text);

// Where the value of "NAME=value" or "--name=value" begins if the name announces a secret, or
// npos: of an argument, all that follows is the value.
[[nodiscard]] std::size_t secret_assignment(std::string_view argument);

// "--token": the next argument is a secret.
[[nodiscard]] bool announces_secret(std::string_view argument);

// "-u", "--user": the next argument may be "name:password". Where the password begins in it, or
// npos.
[[nodiscard]] bool announces_user(std::string_view argument);
[[nodiscard]] std::size_t password_of_user(std::string_view argument);

}  // namespace hermetic
