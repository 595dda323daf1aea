// Which names announce a secret: of environment variables, options, headers and keys.
#pragma once

#include <string_view>

namespace hermetic {

// Of environment variables: "GITHUB_TOKEN", "apiKey", "PGPASSWORD", "KEY"; neither "KEYBOARD" nor
// "AUTHOR", nor what only says where a secret is, "TOKEN_FILE", or of which kind, "AUTH_TYPE".
[[nodiscard]] bool is_secret_variable(std::string_view name);

// Of options and assignments in any text, where "key", "session" or "auth" alone say nothing:
// "--token", "access_key", "db_pass"; neither "sort --key" nor "--max-tokens".
[[nodiscard]] bool is_secret_option(std::string_view name);

// Of "name: value" in any text, where a single word may be prose, as in "unexpected token: x":
// "X-Api-Key", "password", "Cookie".
[[nodiscard]] bool is_secret_header(std::string_view name);

}  // namespace hermetic
