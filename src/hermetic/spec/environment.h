// The environment of a command (E): all of it, decided before it starts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/spec/draft.h"

namespace hermetic {

// Letters, digits and '_', not starting with a digit.
[[nodiscard]] bool is_variable_name(std::string_view name);

[[nodiscard]] std::map<std::string, std::string> caller_environment();
// Only these variables of it.
[[nodiscard]] std::map<std::string, std::string> passed_by_caller(
    const std::set<std::string>& names);

// The built-in minimum (USER, HOME, LANG, TZ, PATH), then what is passed from `caller`, then what
// is set. Refuses names that are no names, and NUL bytes.
[[nodiscard]] Result<std::map<std::string, std::string>> variables_of(
    const EnvironmentDraft& environment, Identity identity,
    const std::map<std::string, std::string>& caller);

}  // namespace hermetic
