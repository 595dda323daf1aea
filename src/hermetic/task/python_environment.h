// Python environments: what `python -m venv` and pip make of a lockfile, once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"
#include "hermetic/workspace/cache.h"

namespace hermetic::task {

struct PythonRequest {
  std::string interpreter = "/usr/bin/python3";
  std::string lockfile = {};             // a path; empty: nothing but pip
  std::vector<std::string> wheels = {};  // directories in which the packages are
  std::string index = {};                // a URL of packages that are not there
};

struct PythonEnvironment {
  std::string version;       // "3.11.2"
  std::string hash;          // of lockfile, interpreter and what was installed
  std::string lockfile_sha;  // "" without a lockfile
  // The lockfile pins contents, and they were checked; nothing without a lockfile.
  std::optional<bool> has_hashes;
  std::vector<std::string> inputs;  // what of the host its interpreter needs besides the tools
  CachedTree cached;
};

// Every requirement is pinned (name==version); one that has a hash makes pip ask for all. Byte code
// is compiled ahead, in the form that depends on no time.
[[nodiscard]] Result<PythonEnvironment> python_environment(const PythonRequest& request,
                                                           Cache& cache, Backend& backend);

// Fails, naming the line, unless everything in the lockfile is pinned. Pip would take more than we
// do for the end of a line, and an encoding that a comment names: it is given what we have read.
struct Lockfile {
  std::vector<std::string> names;
  bool has_hashes = false;
  std::string text;  // one requirement on each line, with its hashes: what pip is given
};
[[nodiscard]] Result<Lockfile> parse_lockfile(std::string_view text, const std::string& file);

// Which files there are in the directories of wheels, by name, size and time of change. Empty if
// the lockfile says by hashes which it means.
[[nodiscard]] Result<std::string> state_of_wheels(const PythonRequest& request);

}  // namespace hermetic::task
