#include "cli/gate_detectors.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/backends.h"
#include "hermetic/backends/observed/sockets_backend.h"
#include "hermetic/backends/observed/strace_backend.h"
#include "hermetic/base/text.h"

namespace hermetic::cli {

namespace {

// Where the kernel lets a step have a network of its own, nothing weaker is looked for.
bool can_enforce(const Backend& guard) {
  const Capabilities capabilities = guard.probe();
  const auto clause = capabilities.clauses.find(Clause::NoNetwork);
  return clause != capabilities.clauses.end() && clause->second.strength == Strength::Enforced;
}

template <typename Kind>
Result<std::unique_ptr<Backend>> made() {
  Kind backend = TRY(Kind::make());
  return std::unique_ptr<Backend>(std::make_unique<Kind>(std::move(backend)));
}

constexpr std::string_view kStraceBlindness =
    "io_uring and what a daemon does on the step's behalf are not seen; nothing is denied";
constexpr std::string_view kSocketsBlindness =
    "connections shorter than 50 ms and datagrams are not seen; nothing is denied";

}  // namespace

Result<GateDetectors> GateDetectors::make(const Arguments& arguments) {
  const std::string wanted = arguments.last("--detector");
  const std::string required = arguments.last("--require");
  if (!required.empty() && required != "enforced")
    return invalid(fmt::format("--require '{}' is not known", printable(required)),
                   "write --require enforced");
  if (!wanted.empty() && wanted != "guard" && wanted != "strace" && wanted != "sockets")
    return invalid(fmt::format("there is no detector '{}'", printable(wanted)),
                   "guard, strace or sockets");
  if (!required.empty() && !wanted.empty() && wanted != "guard")
    return invalid(fmt::format("the detector '{}' enforces nothing", wanted),
                   "use guard, or leave --require out");
  GateDetectors detectors;
  std::optional<Error> refusal;
  const auto add = [&](std::string name, Result<std::unique_ptr<Backend>> backend,
                       Assurance assurance, std::string_view blindness) {
    if (!backend) {
      if (!refusal) refusal = backend.error();
      return;
    }
    detectors.list_.push_back({std::move(name), backend->get(), assurance, std::string(blindness)});
    detectors.backends_.push_back(std::move(*backend));
  };
  if (wanted.empty() || wanted == "guard") add("guard", backend_named(""), Assurance::Enforced, "");
  const bool enough = !required.empty() || wanted == "guard" ||
                      (!detectors.list_.empty() && can_enforce(*detectors.list_.front().backend));
  if (!enough && wanted != "sockets")
    add("strace", made<StraceBackend>(), Assurance::Observed, kStraceBlindness);
  if (!enough && wanted != "strace")
    add("sockets", made<SocketsBackend>(), Assurance::Degraded, kSocketsBlindness);
  if (detectors.list_.empty()) return *refusal;
  return detectors;
}

}  // namespace hermetic::cli
