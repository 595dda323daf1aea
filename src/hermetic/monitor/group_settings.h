// What is written to the files of a control group, to put limits in force.
#pragma once

#include <string>
#include <vector>

#include "hermetic/monitor/control_group.h"

namespace hermetic {

// A file of the group, and what is written to it.
struct GroupSetting {
  Controller controller;
  const char* file;
  std::string text;
  bool only_if_there = false;  // kernels without swap accounting have no such file
};

[[nodiscard]] std::vector<GroupSetting> unified_settings(const GroupLimits& limits);   // version 2
[[nodiscard]] std::vector<GroupSetting> separate_settings(const GroupLimits& limits);  // version 1

}  // namespace hermetic
