// Repository: where git keeps what, and which commit it is at, without running git.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

struct Repository {
  std::string git;                   // of this worktree: has HEAD
  std::string common;                // of all its worktrees: has objects and references
  std::vector<std::string> objects;  // other folders that objects are borrowed from
  std::string worktree = {};         // its top; empty: there is none
};

// `path` is a worktree, or a repository without one. All paths are real.
[[nodiscard]] Result<Repository> find_repository(const std::string& path);

// The commit of HEAD.
[[nodiscard]] Result<std::string> head_of(const Repository& repository);

// Of submodules, those whose repository is a folder '.git' in the worktree, and not a part of the
// other: as paths from the top, sorted. No link leads to one of them.
[[nodiscard]] std::vector<std::string> inner_submodules(const Repository& repository);

// 40 or 64 hexadecimal digits.
[[nodiscard]] bool is_commit(std::string_view text);

}  // namespace hermetic
