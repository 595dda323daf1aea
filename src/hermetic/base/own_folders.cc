#include "hermetic/base/own_folders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace hermetic {

std::string usual_cache_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string own = variable("HERMETIC_CACHE"); !own.empty()) return own;
  if (const std::string base = variable("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/hermetic";
  if (const std::string home = variable("HOME"); home.starts_with('/'))
    return home + "/.cache/hermetic";
  return fmt::format("/var/tmp/hermetic-cache-{}", ::geteuid());
}

}  // namespace hermetic
