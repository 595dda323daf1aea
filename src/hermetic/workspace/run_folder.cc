#include "hermetic/workspace/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <utility>

#include "hermetic/base/current_directory.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

Error cannot(std::string_view doing, const std::string& path) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(path)), errno);
}

Result<std::string> new_name() {
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    return system_error("cannot get random bytes", errno);
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return fmt::format("run_{}_{:06x}", now.count(), random & 0xffffffU);
}

// Says where the folder will be before it is there, so that it is never there unsaid. Nothing if
// somebody who clears up took it for one that was left, in the moment before it was locked.
Result<UniqueFd> write_journal(const std::string& journal, const std::string& path) {
  UniqueFd file(::open(journal.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot("make the journal", journal);
  struct stat status = {};
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(file.get(), &status) != 0 ||
      status.st_nlink == 0)
    return UniqueFd();
  const std::string text = path + "\n";
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fdatasync(file.get()) != 0)
    return cannot("write the journal", journal);
  return file;
}

constexpr const char* kMade = "user.hermetic.made";

// The folders above a run's that some run had to make, and that are empty now.
void leave_folders_above(std::string path, std::vector<std::string>& removed) {
  for (;;) {
    path = std::string(parent_of(path));
    char value = 0;
    if (::lgetxattr(path.c_str(), kMade, &value, 1) != 1 || ::rmdir(path.c_str()) != 0) return;
    removed.push_back(path);
  }
}

// Two runs of one task may begin and end at the same time: what is there may go again.
Result<void> make_folders(const std::string& path, std::vector<std::string>& made) {
  constexpr int kTries = 100;
  for (int attempt = 0;; ++attempt) {
    int error = 0;
    for (Components component(path); component.next() && error == 0;) {
      const std::string part(component.prefix());
      if (::mkdir(part.c_str(), part == path ? 0700 : 0755) == 0) {
        made.push_back(part);
        // Who made it may not be the last to leave it.
        (void)::setxattr(part.c_str(), kMade, "1", 1, 0);
      } else if (errno != EEXIST || part == path) {
        error = errno;
      }
    }
    if (error == 0) return {};
    errno = error;
    if (error != ENOENT || attempt >= kTries) return cannot("make", path);
  }
}

std::string journal_text(int file) {
  std::array<char, PATH_MAX + 1> text = {};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  std::string path(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return path.ends_with('\n') ? path.substr(0, path.size() - 1) : "";
}

// The very folder that was made: its journal has its name, after an '@' if that was given, and it
// is ours.
bool is_run_folder(const std::string& path, const std::string& journal) {
  struct stat status = {};
  const std::string name = journal.substr(journal.find('@') + 1);
  return path.starts_with('/') && path.ends_with("/" + name) &&
         ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

}  // namespace

Result<void> check_task_name(const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && !name.empty() && !name.starts_with('.') && name.size() <= 128) return {};
  return invalid(fmt::format("'{}' cannot name a task", printable(name)),
                 "use up to 128 letters, digits, '.', '_' and '-', and no dot at the start");
}

Result<RunFolder> RunFolder::make(const std::string& scratch, const std::string& task,
                                  const std::string& journals, const std::string& run) {
  TRY(check_task_name(task));
  if (!run.empty()) TRY(check_task_name(run));
  const std::string top = TRY(absolute_path(scratch));
  if (::mkdir(journals.c_str(), 0700) != 0 && errno != EEXIST) return cannot("make", journals);
  RunFolder folder;
  TRY(folder.announce(top, task, journals, run));
  folder.made_.push_back(folder.journal_);
  if (Result<void> made = make_folders(folder.path_, folder.made_); !made) {
    // Another run may have got the name in this moment: its folder is not ours to remove.
    (void)::unlink(folder.journal_.c_str());
    folder.path_.clear();
    return std::move(made).error();
  }
  TRY(folder.end_search_for_repositories());
  return folder;
}

Result<void> RunFolder::announce(const std::string& top, const std::string& task,
                                 const std::string& journals, const std::string& run) {
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    run_ = run.empty() ? TRY(new_name()) : run;
    const std::string path = fmt::format("{}/{}/{}", top, task, run_);
    if (!run.empty() && is_present(path))
      return invalid(fmt::format("there is a run '{}' of the task '{}' already", run, task),
                     fmt::format("choose another name, or remove '{}'", printable(path)));
    // Runs of two tasks may have one name.
    journal_ = fmt::format("{}/{}", journals, run.empty() ? run_ : TRY(new_name()) + "@" + run_);
    lock_ = TRY(write_journal(journal_, path));
    if (lock_.is_open()) {
      path_ = path;
      return {};
    }
  }
  return system_error(fmt::format("cannot keep a journal in '{}'", printable(journals)), EBUSY,
                      "something removes it at once");
}

// Git takes a file '.git' that leads nowhere for an error, and does not look further up.
Result<void> RunFolder::end_search_for_repositories() {
  constexpr std::string_view kNowhere = "gitdir: no-repository-of-a-hermetic-task\n";
  const std::string path = path_ + "/.git";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open() || ::write(file.get(), kNowhere.data(), kNowhere.size()) !=
                             static_cast<ssize_t>(kNowhere.size()))
    return cannot("make", path);
  made_.push_back(path);
  return {};
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      run_(std::move(other.run_)),
      journal_(std::move(other.journal_)),
      owner_(other.owner_),
      lock_(std::move(other.lock_)),
      made_(std::move(other.made_)) {}

RunFolder::~RunFolder() { (void)remove(); }

Result<std::string> RunFolder::add(const std::string& name) {
  std::string path = path_ + "/" + name;
  if (::mkdir(path.c_str(), 0700) != 0) return cannot("make", path);
  made_.push_back(path);
  return path;
}

Certificate RunFolder::remove() {
  Certificate certificate;
  if (path_.empty() || owner_ != ::getpid()) return certificate;
  certificate.made = made_;
  const std::string path = std::exchange(path_, {});
  struct stat status = {};
  const bool never_made = ::lstat(path.c_str(), &status) != 0 && errno == ENOTDIR;
  const Result<void> gone = never_made ? Result<void>() : remove_tree(AT_FDCWD, path);
  if (!gone) {
    // The journal stays: hermetic gc tries again.
    certificate.left.push_back(fmt::format("{}: {}", path, gone.error().message));
    return certificate;
  }
  for (auto made = made_.rbegin(); made != made_.rend(); ++made)
    if (is_within(*made, path)) certificate.removed.push_back(*made);
  // Others may have come to the folders above; those stay until the last one goes.
  leave_folders_above(path, certificate.removed);
  if (::unlink(journal_.c_str()) == 0)
    certificate.removed.push_back(journal_);
  else
    certificate.left.push_back(cannot("remove", journal_).message);
  return certificate;
}

AbandonedRuns remove_abandoned_runs(const std::string& journals, Deadline deadline) {
  AbandonedRuns runs;
  const Result<UniqueFd> directory = open_directory(AT_FDCWD, journals);
  struct stat status = {};
  // What somebody else has written there is not believed.
  if (!directory || ::fstat(directory->get(), &status) != 0 || status.st_uid != ::geteuid())
    return runs;
  const Result<std::vector<std::string>> names = names_in(directory->get());
  if (!names) return runs;
  for (const std::string& name : *names) {
    const UniqueFd journal(
        ::openat(directory->get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!journal.is_open() || !lock_before(journal.get(), deadline)) continue;
    const std::string path = journal_text(journal.get());
    if (is_run_folder(path, name)) {
      if (const Result<void> gone = remove_tree(AT_FDCWD, path); !gone) {
        runs.left.push_back({path, gone.error().message});
        continue;
      }
      runs.removed.push_back(path);
      leave_folders_above(path, runs.removed);
    }
    (void)::unlinkat(directory->get(), name.c_str(), 0);
  }
  return runs;
}

}  // namespace hermetic
