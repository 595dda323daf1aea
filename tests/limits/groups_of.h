// What the tests of limits have in common.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hermetic/monitor/control_group.h"

namespace hermetic {

inline constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20U;

// The groups of this process that are still there, also if a run of it was killed.
inline std::vector<std::string> groups_of(pid_t process) {
  std::vector<std::string> found;
  const std::string name =
      "hermetic-" + std::to_string(::geteuid()) + "-" + std::to_string(process) + "-";
  const ControlGroups groups = ControlGroups::of_this_process();
  for (const std::string& place : groups.places())
    for (const auto& entry : std::filesystem::directory_iterator(place))
      if (entry.path().filename().string().starts_with(name)) found.push_back(entry.path());
  return found;
}

}  // namespace hermetic
