// Repository: where git keeps what, and which commit it is at, without running git.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

struct Repository {
  std::string git;                        // of this worktree: has HEAD
  std::string common;                     // of all its worktrees: has objects and references
  std::vector<std::string> objects;       // other folders that objects are borrowed from
  std::vector<std::string> folders = {};  // that everything read lies in: the user named them
  std::string worktree = {};              // its top; empty: there is none
};

// A repository as the user names it: a worktree, or a repository without one. Its files may name
// other folders (an alternate, a `.git` file, a symbolic link); only `borrowed` ones are used.
struct NamedRepository {
  std::string path;
  std::vector<std::string> borrowed = {};

  friend auto operator<=>(const NamedRepository&, const NamedRepository&) = default;
};

// Whether the files of a repository may lead to folders that the user has not named.
enum class Elsewhere {
  Refuse,
  Follow,  // only to find the commit it is at: nothing of what lies there is given to a command
};

// All paths are real. Fails, naming the folder, if anything but an alternate that does not exist
// leads out of the repository and of what is borrowed.
[[nodiscard]] Result<Repository> find_repository(const NamedRepository& named,
                                                 Elsewhere elsewhere = Elsewhere::Refuse);

// The commit of HEAD.
[[nodiscard]] Result<std::string> head_of(const Repository& repository);

// Of submodules, those whose repository is a folder '.git' in the worktree, and not a part of the
// other: as paths from the top, sorted. No link leads to one of them.
[[nodiscard]] std::vector<std::string> inner_submodules(const Repository& repository);

// 40 or 64 hexadecimal digits.
[[nodiscard]] bool is_commit(std::string_view text);

}  // namespace hermetic
