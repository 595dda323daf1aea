#include "cli/gate_setup.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <filesystem>

#include "cli/spec_options.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_place.h"
#include "hermetic/record/evidence_folder.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/mount_table.h"
#include "hermetic/spec/quantity.h"
#include "hermetic/spec/shown_parts.h"

namespace hermetic::cli {
namespace {

Result<std::string> workspace_path() {
  std::error_code error;
  const std::string path = std::filesystem::canonical(".", error).string();
  if (error) return system_error("cannot find the current directory", error.value());
  return path;
}

Result<unsigned> jobs_for(const Arguments& arguments) {
  if (!arguments.has("--jobs")) return 1U;
  const std::string text = arguments.last("--jobs");
  unsigned jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  constexpr unsigned kMost = 256;
  if (error != std::errc() || end != text.data() + text.size() || jobs < 1 || jobs > kMost)
    return invalid(fmt::format("--jobs '{}' is no number from 1 to {}", printable(text), kMost));
  return jobs;
}

}  // namespace

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

Result<EvidenceFolder> make_evidence_folder(gate::Surroundings& surroundings,
                                            const std::string& out) {
  const MountTable mounts = TRY(MountTable::of_this_process());
  const Found workspace = TRY(look_up_on_host(surroundings.workspace));
  const FilesystemPath shown = place_of(workspace, mounts);
  const auto is_hidden = [&](const Found& directory) {
    return is_strictly_within(directory.real_path, workspace.real_path);
  };
  const auto is_seen = [&](const Found& directory) -> Result<bool> {
    const FilesystemPath place = place_of(directory, mounts);
    return !is_hidden(directory) && place.device == shown.device &&
           is_within(place.path, shown.path);
  };
  const OwnPlace place = TRY(OwnPlace::find(out));
  // Before anything is made: a step of an earlier gate may have put the link there.
  for (const Link& link : place.found().links) {
    const Found parent = TRY(look_up_on_host(parent_of(link.path)));
    const FilesystemPath at = place_of(parent, mounts);
    if (at.device == shown.device && is_within(at.path, shown.path))
      return invalid(fmt::format("--out '{}' goes through the link '{}', which lies inside the "
                                 "workspace",
                                 printable(out), printable(link.path)),
                     "choose a way that no step can have changed");
  }
  EvidenceFolder folder =
      TRY(EvidenceFolder::make(place, EvidenceFolder::IfThere::Replace, is_seen));
  if (std::string hidden = folder.hide_from(workspace.real_path); !hidden.empty())
    surroundings.hidden.push_back(std::move(hidden));
  return folder;
}

Redaction redaction_for(const gate::Policy& policy) {
  std::vector<Redaction::Variable> variables;
  const auto add = [&](const std::map<std::string, std::string>& more) {
    variables.insert(variables.end(), more.begin(), more.end());
  };
  add(caller_environment());
  for (const gate::Step& step : policy.steps) {
    add(step.variables);
    if (step.spec) add(step.spec->environment.set);
  }
  return Redaction(variables);
}

Result<gate::Policy> gate_policy(const Arguments& arguments) {
  return gate::load_policy(arguments.has("--policy") ? arguments.last("--policy")
                                                     : std::string(gate::kUsualPolicy));
}

Result<GateSetup> gate_setup(const Arguments& arguments) {
  GateSetup setup;
  setup.policy = TRY(gate_policy(arguments));
  gate::GateOptions& options = setup.options;
  for (const Given& given : arguments.options)
    if (given.name == "--step") options.steps.push_back(given.value);
  TRY(gate::Gate::check_steps(setup.policy, options.steps));
  if (arguments.has("--timeout")) {
    const std::chrono::milliseconds limit = TRY(parse_duration(arguments.last("--timeout")));
    for (gate::Step& step : setup.policy.steps)
      if (!step.draft.limits.wall_time && !(step.spec && step.spec->limits.wall_time))
        step.draft.limits.wall_time = limit;
  }
  options.surroundings.workspace = TRY(workspace_path());
  options.surroundings.environment = caller_environment();
  options.surroundings.caller_toolchain = TRY(wants_caller_toolchain(arguments));
  options.jobs = TRY(jobs_for(arguments));
  options.today = today();
  setup.detectors = TRY(GateDetectors::make(arguments));
  options.detectors = setup.detectors.list();
  return setup;
}

}  // namespace hermetic::cli
