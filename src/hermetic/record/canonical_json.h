// How JSON is written: for digests and signatures in the one form that RFC 8785 gives it, and for
// people.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace hermetic {

// Keys are sorted as UTF-16, nothing is escaped that need not be, no space is left. An integer more
// than 2^53 from zero becomes a text, for readers disagree about its value; fractions, whose forms
// they disagree about, are a mistake of the caller, as are texts that are not UTF-8.
[[nodiscard]] std::string canonical_json(const nlohmann::json& document);

// Indented, keys sorted as bytes, ended by a newline.
[[nodiscard]] std::string readable_json(const nlohmann::json& document);

}  // namespace hermetic
