// HostView: the worktree of a task as a real directory of the host, for a caller who wants to use
// tools of its own on it.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/workspace/mirror.h"

namespace hermetic::task {

// Nothing is made until it is asked for. From then on the worktree that commands see is a copy of
// all files, and so is the caller's; what one side changes is carried over to the other between
// commands, but for what git keeps. See docs/decisions/0019-what-the-caller-sees.md.
//
// Any thread may use it: commands are waited for by others than those who ask about them.
class HostView {
 public:
  // `changes` is the folder in which the changes of the worktree are kept, `worktree` the path of
  // the caller's.
  HostView(std::string changes, std::string worktree)
      : changes_(std::move(changes)), worktree_(std::move(worktree)) {}

  // Makes the caller's worktree, of what `layers` and the changes show now; its repositories are
  // those of `checkout`, which no command can have changed. No command of the task runs. Does
  // nothing if it is there.
  [[nodiscard]] Result<void> show_worktree(const std::vector<std::string>& layers,
                                           const std::string& checkout);

  // Before a command starts, and before anything is read of what commands have changed. Fails if
  // the last bring_out() has.
  [[nodiscard]] Result<void> bring_in();
  // After a command has ended.
  void bring_out();
  // From now on nothing is carried over: what commands have changed was moved away.
  void forget();

 private:
  std::string changes_;
  std::string worktree_;
  std::mutex mutex_;
  std::optional<Mirror> mirror_;  // guarded by `mutex_`; once the worktree is shown
  std::optional<Error> failed_;   // guarded by `mutex_`
};

}  // namespace hermetic::task
