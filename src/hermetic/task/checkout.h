// Checkouts: the tree of a commit, with a repository of its own that has its history and no more.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/run/backend.h"
#include "hermetic/workspace/cache.h"
#include "hermetic/workspace/repository.h"

namespace hermetic::task {

struct Checkout {
  std::string commit;
  std::string tree;                             // the digest that git gives to its content
  std::vector<std::string> missing_submodules;  // names of those that the source does not have
  std::vector<std::string> directories;         // of which alone there are files; none: all. Sorted
  CachedTree cached;
};

// A worktree in which git works, made of the commit alone: no setting, hook or filter of the caller
// or the machine has a part in it, files have the time of the commit, and neither branches nor
// later commits are there for the task to find. The source is only read. Made once for each commit.
//
// `revision` is a commit, or anything else that git takes for one; empty: HEAD.
// `sparse` are directories, of which alone there are files besides those at the top; none: all.
[[nodiscard]] Result<Checkout> check_out(const NamedRepository& repository,
                                         const std::string& revision,
                                         const std::vector<std::string>& sparse, Cache& cache,
                                         Backend& backend);

// What a checkout is made of, without making it.
struct Source {
  std::string commit;  // that the revision stands for now
  std::string extent;  // a digest: which submodules are there, what they hold, and how much history
};
[[nodiscard]] Result<Source> find_source(const NamedRepository& repository,
                                         const std::string& revision, Backend& backend);
// The commit that git takes `revision` for. Fails if the repository has none.
[[nodiscard]] Result<std::string> find_commit(const NamedRepository& repository,
                                              const std::string& revision, Backend& backend);

}  // namespace hermetic::task
