// JSON in the one form that RFC 8785 gives it: what is hashed and signed is written like this.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace hermetic {

// Keys are sorted as UTF-16, nothing is escaped that need not be, no space is left. Numbers are
// integers within 2^53 of zero: others have forms that programs disagree about, and are a mistake
// of the caller. All texts are UTF-8.
[[nodiscard]] std::string canonical_json(const nlohmann::json& document);

}  // namespace hermetic
