#include "cli/backends.h"

#include <fmt/format.h>

#include "hermetic/backends/linux/linux_backend.h"
#include "hermetic/base/text.h"
#include "hermetic/plan/model.h"

namespace hermetic::cli {

Result<std::unique_ptr<Backend>> backend_named(std::string_view name) {
  if (!name.empty() && name != "linux")
    return invalid(fmt::format("there is no backend '{}' that runs commands here", printable(name)),
                   "use linux");
  LinuxBackend backend = TRY(LinuxBackend::make());
  return std::unique_ptr<Backend>(std::make_unique<LinuxBackend>(std::move(backend)));
}

Result<Capabilities> capabilities_of(std::string_view name) {
  if (name == "model") return model_capabilities();
  const std::unique_ptr<Backend> backend = TRY(backend_named(name));
  return backend->probe();
}

}  // namespace hermetic::cli
