// What is behind the handles of drafts and specs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bindings/c/hermetic.h"
#include "hermetic/spec/spec_builder.h"
#include "hermetic/task/command_log.h"
#include "hermetic/task/host_view.h"

struct hermetic_draft {
  hermetic::Draft draft;
  // Where passed variables come from; none: this process.
  std::optional<std::map<std::string, std::string>> caller;
};

struct hermetic_spec {
  hermetic::Spec spec;
  // Of a command of a task: where what becomes of it is written, and what it is called there.
  std::shared_ptr<hermetic::task::CommandLog> log = {};
  hermetic::task::GivenCommand given = {};
  // What the task's caller sees of it, if that is shown.
  std::shared_ptr<hermetic::task::HostView> host_view = {};
};
