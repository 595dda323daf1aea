// Base64 with padding (RFC 4648), as envelopes and keys are written in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hermetic {

[[nodiscard]] std::string base64(std::string_view bytes);
// Nothing if it is not base64 with its padding.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace hermetic
