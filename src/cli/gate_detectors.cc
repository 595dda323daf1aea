#include "cli/gate_detectors.h"

#include <fmt/format.h>

#include "cli/backends.h"
#include "hermetic/base/text.h"

namespace hermetic::cli {

Result<GateDetectors> GateDetectors::make(const Arguments& arguments) {
  const std::string wanted = arguments.last("--detector");
  const std::string required = arguments.last("--require");
  if (!required.empty() && required != "enforced")
    return invalid(fmt::format("--require '{}' is not known", printable(required)),
                   "write --require enforced");
  GateDetectors detectors;
  const auto add = [&](std::string name, std::unique_ptr<Backend> backend, Assurance assurance,
                       std::string blindness) {
    if (!wanted.empty() && wanted != name) return;
    if (!required.empty() && assurance != Assurance::Enforced) return;
    detectors.list_.push_back({std::move(name), backend.get(), assurance, std::move(blindness)});
    detectors.backends_.push_back(std::move(backend));
  };
  add("guard", TRY(backend_named("")), Assurance::Enforced, "");
  if (!detectors.list_.empty()) return detectors;
  return invalid(fmt::format("no detector '{}'{} here", printable(wanted),
                             required.empty() ? "" : " that enforces"),
                 "guard, strace or sockets");
}

}  // namespace hermetic::cli
