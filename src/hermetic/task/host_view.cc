#include "hermetic/task/host_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/text.h"

namespace hermetic::task {
namespace {

// The names that a layered temp has in its place for changes.
constexpr const char* kUpper = "upper";
constexpr const char* kBeingCopied = "work";

// Besides what the repository of a checkout has: a daemon would outlive the task.
constexpr std::string_view kSettings = "[core]\n\tfsmonitor = false\n";

Error failed_to(std::string_view doing, const std::string& path) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(path)), errno);
}

Result<void> copy_repository(int from, int to, const std::string& worktree) {
  TRY(copy_tree(from, ".git", to, ".git"));
  const std::string path = worktree + "/.git/config";
  const UniqueFd config(::openat(to, ".git/config", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!config.is_open() || ::write(config.get(), kSettings.data(), kSettings.size()) !=
                               static_cast<ssize_t>(kSettings.size()))
    return failed_to("write", path);
  return {};
}

// That of the checkout itself, and those of submodules.
Result<void> copy_repositories(int from, int to, const std::string& worktree) {
  for (const std::string& name : TRY(names_in(from))) {
    struct stat status = {};
    struct stat there = {};
    if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return failed_to("look at", name);
    if (!S_ISDIR(status.st_mode)) continue;
    if (name == ".git") {
      TRY(copy_repository(from, to, worktree));
      continue;
    }
    if (::fstatat(to, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(there.st_mode))
      continue;
    const UniqueFd source = TRY(open_directory(from, name));
    const UniqueFd target = TRY(open_directory(to, name));
    TRY(copy_repositories(source.get(), target.get(), fmt::format("{}/{}", worktree, name)));
  }
  return {};
}

}  // namespace

Result<void> HostView::show_worktree(const std::vector<std::string>& layers,
                                     const std::string& checkout) {
  const std::lock_guard guard(mutex_);
  if (mirror_) return {};
  const std::string upper = fmt::format("{}/{}", changes_, kUpper);
  if (!is_present(upper) || !is_copy(upper)) {
    const UniqueFd directory = TRY(open_directory(AT_FDCWD, changes_));
    TRY(replace_by_copy(directory.get(), changes_, layers, kUpper, kBeingCopied));
  }
  TRY(remove_tree(AT_FDCWD, worktree_));  // of an attempt that failed
  if (::mkdir(worktree_.c_str(), 0700) != 0) return failed_to("make", worktree_);
  Mirror mirror(upper, worktree_);
  TRY(mirror.bring_out());
  const UniqueFd from = TRY(open_directory(AT_FDCWD, checkout));
  const UniqueFd to = TRY(open_directory(AT_FDCWD, worktree_));
  TRY(copy_repositories(from.get(), to.get(), worktree_));
  mirror_.emplace(std::move(mirror));
  return {};
}

Result<void> HostView::bring_in() {
  const std::lock_guard guard(mutex_);
  if (failed_) return *failed_;
  return mirror_ ? mirror_->bring_in() : Result<void>();
}

void HostView::bring_out() {
  const std::lock_guard guard(mutex_);
  if (!mirror_ || failed_) return;
  if (Result<void> done = mirror_->bring_out(); !done) failed_ = std::move(done).error();
}

void HostView::forget() {
  const std::lock_guard guard(mutex_);
  mirror_.reset();
}

}  // namespace hermetic::task
