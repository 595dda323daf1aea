#include "cli/gate_detectors.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cli/backends.h"
#include "hermetic/backends/observed/own_memory.h"
#include "hermetic/backends/observed/sockets_backend.h"
#include "hermetic/backends/observed/strace_backend.h"
#include "hermetic/base/text.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {

namespace {

// Found by trying: a kernel may know namespaces and refuse them all the same. Where it lets a step
// have a network of its own, nothing weaker is looked for.
Result<void> try_guard(Backend& guard) {
  Draft draft;
  draft.command = {"/bin/true"};
  for (const std::string& directory : toolchain_directories())
    draft.declarations.push_back({.kind = TreeKind::Input, .path = directory, .exceptions = {}});
  const Spec spec = TRY(SpecBuilder(std::move(draft)).caller_environment({}).build());
  const Plan plan = TRY(make_plan(spec, guard.probe()));
  RunOptions options;
  options.standard_input = -1;
  options.capture_bytes = 0;
  Silence silence;
  const std::unique_ptr<Run> run = TRY(guard.start(plan, options, silence));
  const Outcome outcome = TRY(run->wait());
  if (!outcome.success()) return unsupported("a sandbox cannot run /bin/true here");
  return {};
}

template <typename Kind>
Result<std::unique_ptr<Backend>> made() {
  Kind backend = TRY(Kind::make());
  return std::unique_ptr<Backend>(std::make_unique<Kind>(std::move(backend)));
}

constexpr std::string_view kStraceBlindness =
    "io_uring and what a daemon does on the step's behalf are not seen; nothing is denied; what "
    "other "
    "processes of the same user know can be read";
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
  bool enough = !required.empty() || wanted == "guard";
  if (!enough && !detectors.list_.empty()) {
    const Result<void> tried = try_guard(*detectors.list_.front().backend);
    enough = tried.has_value();
    if (!enough) {
      refusal = tried.error();
      detectors = GateDetectors();
    }
  }
  // A step that is only watched sees every process of its user.
  if (!enough) observed::hide_own_memory();
  if (!enough && wanted != "sockets")
    add("strace", made<StraceBackend>(), Assurance::Observed, kStraceBlindness);
  if (!enough && wanted != "strace")
    add("sockets", made<SocketsBackend>(), Assurance::Degraded, kSocketsBlindness);
  if (detectors.list_.empty()) return *refusal;
  return detectors;
}

}  // namespace hermetic::cli
