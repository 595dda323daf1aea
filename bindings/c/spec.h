// What is behind the handles of drafts and specs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bindings/c/hermetic.h"
#include "hermetic/spec/spec_builder.h"

struct hermetic_draft {
  hermetic::Draft draft;
  // Where passed variables come from; none: this process.
  std::optional<std::map<std::string, std::string>> caller;
};

struct hermetic_spec {
  hermetic::Spec spec;
};
