// The backends that this program was built with. There is no registry: this is the list.
#pragma once

#include <memory>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/plan/capabilities.h"
#include "hermetic/run/backend.h"

namespace hermetic::cli {

// "" is the strongest that works here.
[[nodiscard]] Result<std::unique_ptr<Backend>> backend_named(std::string_view name);

// What the named backend can give on this host. Also knows "model", which runs nothing.
[[nodiscard]] Result<Capabilities> capabilities_of(std::string_view name);

}  // namespace hermetic::cli
