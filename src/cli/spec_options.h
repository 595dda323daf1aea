// The options that run, plan and check share: from words on the command line to a Spec.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "hermetic/base/result.h"
#include "hermetic/spec/caller_programs.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/spec.h"

namespace hermetic::cli {

// Where a target is looked for if no --spec is given.
inline constexpr const char* kDefaultFile = "hermetic.yaml";

[[nodiscard]] std::vector<Option> spec_options();

// Options over the spec file over HERMETIC_* variables; without a file, over the defaults: the
// system's toolchain and the current directory can be read.
[[nodiscard]] Result<Spec> spec_from(const Arguments& arguments);

// The same before it is checked against the file system.
[[nodiscard]] Result<Draft> draft_from(const Arguments& arguments);

// What the options say alone, without a file, variables or defaults.
[[nodiscard]] Result<Draft> draft_of_options(const Arguments& arguments);

// --toolchain auto: the programs that the caller's PATH leads to, and what they belong to.
[[nodiscard]] Option toolchain_option();
[[nodiscard]] Result<bool> wants_caller_toolchain(const Arguments& arguments);
[[nodiscard]] CallerSearch caller_search();

// A path of the command line: it may be relative, and start with "..".
[[nodiscard]] Result<std::string> absolute_path(std::string_view text);

}  // namespace hermetic::cli
