#include <fmt/format.h>

#include <string_view>

#include "hermetic/base/text.h"
#include "hermetic/gate/gate.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::gate {
namespace {

// "XY name", each ended by a NUL; a renamed file is followed by its old name.
std::vector<std::string> names_in(std::string_view status) {
  std::vector<std::string> names;
  bool old_name = false;
  while (!status.empty()) {
    const std::size_t end = std::min(status.find('\0'), status.size());
    const std::string_view entry = status.substr(0, end);
    status.remove_prefix(std::min(end + 1, status.size()));
    if (!old_name && entry.size() > 3) names.push_back(printable(entry.substr(3)));
    old_name = !old_name && (entry.starts_with('R') || entry.starts_with('C'));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::optional<std::vector<std::string>> modified_files(Backend& backend,
                                                       const std::string& workspace) {
  Draft draft;
  draft.command = {
      "git",         "-c", "safe.directory=*",    "-c", "core.fsmonitor=false", "status",
      "--porcelain", "-z", "--untracked-files=no"};
  SpecBuilder builder(std::move(draft));
  for (const std::string& directory : toolchain_directories()) builder.input(directory);
  builder.input(workspace).directory(workspace);
  const Result<Spec> spec = builder.caller_environment({}).build();
  if (!spec) return std::nullopt;
  const Result<Plan> plan = make_plan(*spec, backend.probe());
  if (!plan) return std::nullopt;
  RunOptions options;
  options.standard_input = -1;
  options.capture_bytes = std::size_t{16} << 20U;
  Silence events;
  Result<std::unique_ptr<Run>> run = backend.start(*plan, options, events);
  if (!run) return std::nullopt;
  const Result<Outcome> outcome = (*run)->wait();
  if (!outcome || !outcome->success() || outcome->standard_output.truncated) return std::nullopt;
  return names_in(outcome->standard_output.text);
}

}  // namespace hermetic::gate
