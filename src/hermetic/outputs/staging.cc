#include "hermetic/outputs/staging.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

std::uint64_t mount_of(const std::string& path) {
  struct statx status = {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &status) != 0) return 0;
  return status.stx_mnt_id;
}

std::string existing_part(std::string path) {
  while (path != "/" && ::access(path.c_str(), F_OK) != 0) path = std::string(parent_of(path));
  return path;
}

// Would the command see something that is made in this directory?
bool is_shown(const Plan& plan, std::string_view directory) {
  return std::any_of(plan.view.begin(), plan.view.end(), [&](const ViewEntry& entry) {
    const bool host =
        entry.kind == ViewEntry::Kind::Input || entry.kind == ViewEntry::Kind::OutputInPlace;
    return host && is_within(directory, entry.source);
  });
}

// Directories for temporary files first; then those above the destination, which are on its mount
// more often.
std::vector<std::string> candidates_for(const Plan& plan, const std::string& destination) {
  const std::string start = existing_part(std::string(parent_of(destination)));
  std::vector<std::string> usable;
  const auto consider = [&](const std::string& directory) {
    if (::access(directory.c_str(), W_OK | X_OK) == 0 && !is_shown(plan, directory))
      usable.push_back(directory);
  };
  consider("/var/tmp");
  consider("/tmp");
  for (std::string above = start;; above = std::string(parent_of(above))) {
    consider(above);
    if (above == "/") break;
  }
  const std::uint64_t wanted = mount_of(start);
  std::stable_partition(usable.begin(), usable.end(), [&](const std::string& directory) {
    return mount_of(directory) == wanted;
  });
  return usable;
}

// Removes what runs of this user that were killed have left in `base`. Young directories are let
// be: their run may be about to lock them.
void remove_stale(const std::string& base) {
  constexpr std::time_t kYoung = 60;
  const Result<UniqueFd> directory = open_directory(AT_FDCWD, base);
  if (!directory) return;
  const Result<std::vector<std::string>> names = names_in(directory->get());
  if (!names) return;
  const std::string prefix = fmt::format(".hermetic-{}-", ::geteuid());
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const Result<UniqueFd> stale = open_directory(directory->get(), name);
    struct stat status = {};
    if (!stale || ::fstat(stale->get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (::time(nullptr) - status.st_mtim.tv_sec < kYoung) continue;
    if (::flock(stale->get(), LOCK_EX | LOCK_NB) == 0) (void)remove_tree(directory->get(), name);
  }
}

Result<StagedOutput> stage(const Plan& plan, const Publication& publication) {
  const std::vector<std::string> candidates = candidates_for(plan, publication.destination);
  if (candidates.empty())
    return unsupported(
        fmt::format("there is no directory in which the output '{}' can be prepared unseen",
                    printable(publication.path)),
        "make /var/tmp writable, or declare it as no input");
  remove_stale(candidates.front());
  StagedOutput staged{.publication = publication};
  std::string name = fmt::format("{}/.hermetic-{}-XXXXXX",
                                 candidates.front() == "/" ? "" : candidates.front(), ::geteuid());
  if (::mkdtemp(name.data()) == nullptr)
    return system_error(
        fmt::format("cannot make a directory in '{}'", printable(candidates.front())), errno);
  staged.directory = name;
  Result<UniqueFd> opened = open_directory(AT_FDCWD, name);
  if (!opened) {
    ::rmdir(name.c_str());
    return std::move(opened).error();
  }
  staged.descriptor = std::move(*opened);
  // Held while we live: a directory that is not locked was left by a run that was killed, and can
  // go.
  (void)::flock(staged.descriptor.get(), LOCK_EX | LOCK_NB);
  return staged;
}

// An output that is there already keeps its mode.
mode_t mode_for(const Publication& publication, mode_t usual) {
  struct stat status = {};
  if (::lstat(publication.destination.c_str(), &status) != 0 || S_ISLNK(status.st_mode))
    return usual;
  return status.st_mode & 0777;
}

Result<void> make_tree(const StagedOutput& staged) {
  const int directory = staged.descriptor.get();
  const auto failed = [&] {
    return system_error(
        fmt::format("cannot prepare the output '{}'", printable(staged.publication.path)), errno);
  };
  if (staged.publication.type == FileType::File) {
    const UniqueFd file(::openat(directory, "tree", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open() || ::fchmod(file.get(), mode_for(staged.publication, 0644)) != 0)
      return failed();
    return {};
  }
  if (::mkdirat(directory, "tree", 0700) != 0) return failed();
  if (::fchmodat(directory, "tree", mode_for(staged.publication, 0755) | 0700, 0) != 0)
    return failed();
  return {};
}

}  // namespace

Result<Staging> Staging::make(const Plan& plan) {
  Staging staging;
  for (const Publication& publication : plan.publications) {
    staging.outputs_.push_back(TRY(stage(plan, publication)));
    TRY(make_tree(staging.outputs_.back()));
  }
  return staging;
}

Staging::~Staging() {
  // Nobody can be told from here; what cannot be removed is found again by its name.
  for (const StagedOutput& staged : outputs_)
    if (!staged.directory.empty()) (void)remove_tree(AT_FDCWD, staged.directory);
}

}  // namespace hermetic
