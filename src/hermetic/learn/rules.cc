#include "hermetic/learn/rules.h"

#include <algorithm>
#include <array>

#include "hermetic/base/path.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic {

bool is_built_in(std::string_view path) {
  return is_within(path, kDevices) || is_within(path, kProcesses) || is_within(path, kSystem) ||
         std::find(kSyntheticFiles.begin(), kSyntheticFiles.end(), path) != kSyntheticFiles.end();
}

bool is_broad(std::string_view path, const Observation& observation) {
  static constexpr std::array<std::string_view, 18> kBroad = {
      "/",     "/etc",  "/var",       "/var/lib", "/var/cache", "/var/tmp",
      "/home", "/root", "/opt",       "/srv",     "/mnt",       "/media",
      "/run",  "/usr",  "/usr/local", "/tmp",     "/var/run",   "/usr/share"};
  if (std::find(kBroad.begin(), kBroad.end(), path) != kBroad.end()) return true;
  if (observation.home.empty()) return false;
  if (is_within(observation.home, path)) return true;
  for (const char* part : {".config", ".local", ".local/share", ".local/bin", ".cache", "bin"})
    if (path == join(observation.home, part)) return true;
  return false;
}

bool is_in_temporary(std::string_view path, const Observation& observation) {
  const auto temporary = observation.environment.find("TMPDIR");
  for (const std::string_view directory : {kTemporary, temporary == observation.environment.end()
                                                           ? kTemporary
                                                           : std::string_view(temporary->second)}) {
    if (!directory.starts_with('/') || directory == "/" || !is_within(path, directory)) continue;
    if (is_within(path, observation.directory)) continue;  // the project is in there
    return true;
  }
  return false;
}

bool is_user_state(std::string_view path, const Observation& observation) {
  if (observation.home.empty() || observation.home == "/") return false;
  if (!is_strictly_within(path, observation.home)) return false;
  if (is_within(path, observation.directory) && observation.directory != observation.home)
    return false;
  return relative_to(path, observation.home).starts_with('.');
}

bool is_made_by_run(const std::string& path, const Observation& observation) {
  for (std::string_view part = path; part != "/"; part = parent_of(part)) {
    const SeenPath* seen = find_seen(observation, part);
    if (seen != nullptr && seen->written && seen->absent_before) return true;
  }
  return false;
}

bool is_named_by_command(std::string_view path, const Observation& observation) {
  return std::any_of(observation.command.begin(), observation.command.end(),
                     [&](const std::string& word) { return word.find(path) != std::string::npos; });
}

}  // namespace hermetic
