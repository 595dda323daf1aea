#include "hermetic/record/evidence_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "hermetic/base/file_digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

Error cannot(std::string_view verb, std::string_view path, int os_error) {
  return system_error(fmt::format("cannot {} '{}'", verb, printable(path)), os_error);
}

// Made by hermetic: nothing else is replaced.
bool is_evidence(const std::string& path) {
  return is_present(path + "/" + std::string(kVolatileFile)) &&
         (is_present(path + "/" + std::string(kManifestFile)) ||
          is_present(path + "/" + std::string(kReportFile)));
}

Result<void> make_directories(const std::string& path) {
  for (Components part(path); part.next();)
    if (::mkdir(std::string(part.prefix()).c_str(), 0777) != 0 && errno != EEXIST)
      return cannot("make", part.prefix(), errno);
  return {};
}

int rename_with(const std::string& from, const std::string& to, unsigned flags) {
  const long result = ::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
  return result == 0 ? 0 : errno;
}

Result<void> collect(int directory, const std::string& prefix,
                     std::map<std::string, Subject>& files) {
  for (const std::string& name : TRY(names_in(directory))) {
    const std::string path = prefix + name;
    struct stat status = {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return cannot("inspect", path, errno);
    if (S_ISDIR(status.st_mode)) {
      const UniqueFd below = TRY(open_directory(directory, name));
      TRY(collect(below.get(), path + "/", files));
      continue;
    }
    if (!S_ISREG(status.st_mode))
      return invalid(
          fmt::format("'{}' in the evidence is neither a file nor a folder", printable(path)));
    const UniqueFd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.is_open()) return cannot("open", path, errno);
    files[path] = {.name = path, .digest = TRY(digest_of_file(file.get(), path)) };
  }
  return {};
}

// Whoever makes, collects or leaves holds this lock, and whoever makes evidence there holds one on
// its own folder: what nobody holds was left by a run that was killed. The workshop may be removed
// by another while it is waited for. Nothing if it is not there.
Result<UniqueFd> lock_workshop(const std::string& workshop, bool make) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {
    if (make && ::mkdir(workshop.c_str(), 0700) != 0 && errno != EEXIST)
      return cannot("make", workshop, errno);
    UniqueFd locked(
        ::open(workshop.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!locked.is_open() && errno == ENOENT && make) continue;
    if (!locked.is_open()) return cannot("open", workshop, errno);
    while (::flock(locked.get(), LOCK_EX) != 0)
      if (errno != EINTR) return cannot("lock", workshop, errno);
    struct stat held = {};
    struct stat there = {};
    if (::fstat(locked.get(), &held) == 0 && ::lstat(workshop.c_str(), &there) == 0 &&
        held.st_dev == there.st_dev && held.st_ino == there.st_ino)
      return locked;
  }
  return cannot("lock", workshop, EAGAIN);
}

// With the workshop locked.
std::vector<std::string> collect_in(const UniqueFd& workshop, const std::string& path) {
  constexpr std::size_t kLength = 6;  // of what mkdtemp makes
  std::vector<std::string> removed;
  const Result<std::vector<std::string>> names = names_in(workshop.get());
  if (!names) return removed;
  for (const std::string& name : *names) {
    if (name.size() != kLength) continue;
    const Result<UniqueFd> folder = open_directory(workshop.get(), name);
    if (!folder || ::flock(folder->get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (remove_tree(workshop.get(), name)) removed.push_back(join(path, name));
  }
  return removed;
}

}  // namespace

std::vector<std::string> remove_abandoned_evidence(const std::string& parent) {
  const std::string workshop = fmt::format("{}/{}", parent, kWorkshop);
  const Result<UniqueFd> locked = lock_workshop(workshop, false);
  if (!locked) return {};
  std::vector<std::string> removed = collect_in(*locked, workshop);
  (void)::rmdir(workshop.c_str());  // unless somebody is at work there
  return removed;
}

Result<EvidenceFolder> EvidenceFolder::make(const std::string& path, IfThere if_there) {
  if (is_present(path) && (if_there == IfThere::Refuse || !is_evidence(path)))
    return invalid(fmt::format("'{}' is there already", printable(path)),
                   "choose a folder that does not exist; evidence is never mixed");
  const std::string parent(parent_of(path));
  TRY(make_directories(parent));
  const std::string workshop = join(parent, kWorkshop);
  const UniqueFd locked = TRY(lock_workshop(workshop, true));
  (void)collect_in(locked, workshop);
  std::string place = join(workshop, "XXXXXX");
  if (::mkdtemp(place.data()) == nullptr) return cannot("make a folder in", workshop, errno);
  UniqueFd living = TRY(open_directory(AT_FDCWD, place));
  (void)::flock(living.get(), LOCK_EX | LOCK_NB);  // nobody else can know it yet
  return EvidenceFolder(path, std::move(place), std::move(living), if_there);
}

EvidenceFolder::EvidenceFolder(EvidenceFolder&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::exchange(other.place_, {})),
      living_(std::move(other.living_)),
      if_there_(other.if_there_) {}

EvidenceFolder::~EvidenceFolder() {
  if (place_.empty()) return;
  (void)remove_tree(AT_FDCWD, place_);
  leave_workshop();
}

// Somebody else may still be at work there.
void EvidenceFolder::leave_workshop() const {
  const std::string workshop = join(parent_of(path_), kWorkshop);
  const Result<UniqueFd> locked = lock_workshop(workshop, false);
  if (locked) (void)::rmdir(workshop.c_str());
}

Result<std::string> EvidenceFolder::place_of(const std::string& name) {
  std::string path = join(place_, name);
  TRY(make_directories(std::string(parent_of(path))));
  return path;
}

Result<void> EvidenceFolder::write(const std::string& name, std::string_view text) {
  const std::string path = TRY(place_of(name));
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot("write", path, errno);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::map<std::string, Subject>> EvidenceFolder::files() const { return files_in(place_); }

std::string EvidenceFolder::hide_from(const std::string& workspace) const {
  const std::string parent(parent_of(path_));
  if (is_strictly_within(parent, workspace)) return parent;
  return is_within(parent, workspace) ? join(parent, kWorkshop) : "";
}

Result<void> EvidenceFolder::publish() {
  int os_error = rename_with(place_, path_, RENAME_NOREPLACE);
  if (os_error == EEXIST && if_there_ == IfThere::Replace && is_evidence(path_)) {
    os_error = rename_with(place_, path_, RENAME_EXCHANGE);
    if (os_error == 0) {  // what is under our name now is the old one
      (void)remove_tree(AT_FDCWD, place_);
      place_.clear();
      leave_workshop();
      return {};
    }
  }
  if (os_error != 0) return cannot("publish the evidence as", path_, os_error);
  place_.clear();
  leave_workshop();
  return {};
}

Result<std::map<std::string, Subject>> files_in(const std::string& folder) {
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, folder));
  std::map<std::string, Subject> files;
  TRY(collect(directory.get(), "", files));
  return files;
}

}  // namespace hermetic
