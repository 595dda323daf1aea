// Node environments: what `npm ci` makes of a lockfile, once.
#pragma once

#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"
#include "hermetic/workspace/cache.h"

namespace hermetic::task {

struct NodeRequest {
  std::string lockfile =
      {};                  // package-lock.json, with package.json beside it; empty: none is wanted
  std::string cache = {};  // npm's own, in which the packages are; it stays as it is
};

struct NodeEnvironment {
  std::string lockfile_sha;
  std::string hash;   // of what it was made of
  CachedTree cached;  // has 'node_modules', for the worktree
};

// Offline; no script of a package is run. The digests of the lockfile are npm's to check, and it
// does.
[[nodiscard]] Result<NodeEnvironment> node_environment(const NodeRequest& request, Cache& cache,
                                                       Backend& backend);

// Fails unless a package-lock.json has the digest of every package that it names.
[[nodiscard]] Result<void> check_node_lockfile(std::string_view text, const std::string& file);

}  // namespace hermetic::task
