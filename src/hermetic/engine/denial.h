// Denials: why a command does not get a path that it asks for.
#pragma once

#include <functional>
#include <string>

#include "hermetic/run/outcome.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

// What decides against it, for people; "" if it may be used, and if it is not worth telling: a name
// that is nowhere is no loss to a reader. Looks at the host.
[[nodiscard]] std::string why_denied(const Spec& spec, const AskedPath& asked);

// The same, for RunOptions::why_denied.
[[nodiscard]] std::function<std::string(const AskedPath& asked)> denials_of(const Spec& spec);

}  // namespace hermetic
