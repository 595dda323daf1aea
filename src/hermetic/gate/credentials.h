// Which variables of a caller may hold credentials, or lead to some: stricter than redaction, which
// must not strike out every other word.
#pragma once

#include <string_view>

namespace hermetic::gate {

// By its name: AWS_PROFILE, DATABASE_URL, KUBECONFIG, HTTP_PROXY, and all that announce a secret.
[[nodiscard]] bool is_credential_name(std::string_view name);

// By its value: a key in PEM, a token of a well-known service, a password in an address.
[[nodiscard]] bool is_credential_value(std::string_view value);

}  // namespace hermetic::gate
