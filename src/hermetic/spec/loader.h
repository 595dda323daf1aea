// Spec files and HERMETIC_* variables, read into drafts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/spec/draft.h"

namespace hermetic {

// A spec file: one spec, or several named targets over shared defaults.
struct Project {
  std::string file;                      // as messages name it
  Draft defaults;                        // without targets: the whole spec
  std::map<std::string, Draft> targets;  // what each says itself, without the defaults
};

// `file` is a path, or "-" for standard input. "$here" then stands for the real folder of the file,
// or for the current directory if the file is a stream. docs/reference/spec.md describes the
// format; each way not to follow it is an InvalidSpec with file, line, column and remedy.
[[nodiscard]] Result<Project> load_project(const std::string& file);

// The same of a text, without touching the file system. `here` is an absolute path.
[[nodiscard]] Result<Project> parse_project(std::string_view text, const std::string& file_name,
                                            const std::string& here);

// The draft of one target: the defaults, overlaid by it. Without a name it is the only target, or
// the file itself if it has none; of several, one must be named.
[[nodiscard]] Result<Draft> draft_of(const Project& project,
                                     std::optional<std::string_view> target);

// HERMETIC_MEMORY, HERMETIC_CPU_TIME, HERMETIC_PROCESSES and HERMETIC_NETWORK (a mode, or rules
// separated by commas). A bad value is an InvalidSpec that names the variable.
[[nodiscard]] Result<Draft> draft_from_environment(
    const std::map<std::string, std::string>& environment);

}  // namespace hermetic
