#include "hermetic/workspace/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>
#include <string_view>
#include <thread>
#include <utility>

#include "hermetic/base/current_directory.h"
#include "hermetic/base/digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/workspace/sealed_tree.h"

namespace hermetic {
namespace {

Error failed(std::string_view doing, const std::string& path, int error,
             std::string hint = "HERMETIC_CACHE names another directory for it") {
  return system_error(fmt::format("cannot {} '{}' of the cache", doing, printable(path)), error,
                      std::move(hint));
}

Error in_use(const std::string& path, const std::string& name) {
  return failed("wait any longer for", name, ETIMEDOUT,
                fmt::format("another process makes it, uses it, or holds the lock '{}/{}.lock', as "
                            "a command can that sees the cache: lslocks shows which",
                            printable(path), printable(name)));
}

Result<void> make_directories(const std::string& path) {
  for (Components component(path); component.next();) {
    const std::string part(component.prefix());
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return failed("make", part, errno);
  }
  return {};
}

Result<UniqueFd> open_at(int parent, const std::string& name, int flags, mode_t mode = 0600) {
  UniqueFd file(::openat(parent, name.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!file.is_open()) return failed("open", name, errno);
  return file;
}

Result<std::string> read_text(int directory, const std::string& name) {
  const UniqueFd file = TRY(open_at(directory, name, O_RDONLY));
  std::string text;
  struct stat status = {};  // a seal is large: it is moved once
  if (::fstat(file.get(), &status) == 0) text.reserve(static_cast<std::size_t>(status.st_size));
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t size = ::read(file.get(), block.data(), block.size());
    if (size < 0) return failed("read", name, errno);
    if (size == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(size));
  }
}

Result<void> write_text(int directory, const std::string& name, std::string_view text) {
  const UniqueFd file = TRY(open_at(directory, name, O_WRONLY | O_CREAT | O_EXCL));
  while (!text.empty()) {
    const ssize_t size = ::write(file.get(), text.data(), text.size());
    if (size < 0) return failed("write", name, errno);
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

constexpr const char* kTree = "upper";  // where what a layered temp has changed is kept
constexpr const char* kSeal = "seal";   // the digest of name and facts, and the seal of the tree
constexpr const char* kFacts = "facts";
constexpr std::string_view kMaking = ".making";  // ends the name of what is not done yet

// One entry under the name of another would be what somebody else has asked for.
std::string digest_of_entry(const std::string& name, const std::string& facts) {
  return sha256(fmt::format("{}\n{}", name, facts));
}

// Seals what was made and gives it its name.
Result<void> finish(int directory, const std::string& making, const std::string& name,
                    const std::string& facts) {
  const UniqueFd entry = TRY(open_directory(directory, making));
  const UniqueFd tree = TRY(open_directory(entry.get(), kTree));
  const std::string seal = TRY(seal_of(tree.get()));
  TRY(write_text(entry.get(), kSeal, digest_of_entry(name, facts) + seal));
  TRY(write_text(entry.get(), kFacts, facts));
  // After a loss of power the seal is there only if what it seals is.
  if (::syncfs(entry.get()) != 0) return failed("write", making, errno);
  if (::renameat(directory, making.c_str(), directory, name.c_str()) != 0)
    return failed("name", name, errno);
  return {};
}

}  // namespace

void CachedTree::touch() const { (void)::futimens(use.get(), nullptr); }

Result<Cache> Cache::open(std::string path) {
  if (path.empty()) path = usual_cache_path();
  path = TRY(absolute_path(path));
  TRY(make_directories(path));
  UniqueFd directory = TRY(open_directory(AT_FDCWD, path));
  struct stat status = {};
  if (::fstat(directory.get(), &status) != 0) return failed("look at", path, errno);
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return unsupported(
        fmt::format("'{}' cannot be the cache: others can write there", printable(path)),
        "set HERMETIC_CACHE to a directory that is yours alone");
  return Cache(std::move(path), std::move(directory));
}

std::optional<std::string> Cache::intact(int entry, const std::string& name) const {
  {
    const std::lock_guard guard(seen_->mutex);
    const auto seen = seen_->entries.find(name);
    if (seen != seen_->entries.end()) return seen->second;
  }
  const Result<std::string> seal = read_text(entry, kSeal);
  Result<std::string> facts = read_text(entry, kFacts);
  const Result<UniqueFd> tree = open_directory(entry, kTree);
  if (!seal || !facts || !tree) return std::nullopt;
  const std::string of_entry = digest_of_entry(name, *facts);
  if (!seal->starts_with(of_entry)) return std::nullopt;
  if (!is_sealed_by(std::string_view(*seal).substr(of_entry.size()), tree->get()))
    return std::nullopt;
  const std::lock_guard guard(seen_->mutex);
  seen_->entries.insert_or_assign(name, *facts);
  return std::move(*facts);
}

// Looks again and again: nothing but a signal could end a call that waits, and signals come to
// other threads.
Result<bool> Cache::try_lock(int file, int how, const std::string& name, Deadline until) const {
  constexpr std::chrono::milliseconds kPause(20);
  while (::flock(file, how | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return failed("lock", name, errno);
    if (stopped_ && stopped_()) return failed("wait for", name, ECANCELED);
    if (std::chrono::steady_clock::now() >= until) return in_use(path_, name);
    std::this_thread::sleep_for(kPause);
    return false;
  }
  return true;
}

Result<void> Cache::share(int file, const std::string& name, Deadline until) const {
  for (bool locked = false; !locked;) locked = TRY(try_lock(file, LOCK_SH, name, until));
  return {};
}

// The lock stands beside the entry: it outlives what is made anew.
Result<CachedTree> Cache::get(const std::string& kind, const std::string& key, const Make& make,
                              const TakeBack& take_back) {
  const std::string name = fmt::format("{}-{}", kind, key);
  CachedTree found{.path = fmt::format("{}/{}/{}", path_, name, kTree), .facts = {}, .use = {}};
  found.use = TRY(open_at(directory_.get(), name + ".lock", O_RDWR | O_CREAT));
  const auto use_if_intact = [&] {
    const Result<UniqueFd> entry = open_directory(directory_.get(), name);
    if (!entry) return false;
    std::optional<std::string> facts = intact(entry->get(), name);
    if (!facts) return false;
    found.facts = std::move(*facts);
    found.touch();
    return true;
  };
  // Nobody uses it while we have it alone. Who has made it while we waited may use it for long.
  const Deadline until = std::chrono::steady_clock::now() + patience_;
  for (bool alone = false; !alone;) {
    TRY(share(found.use.get(), name, until));
    if (use_if_intact()) return found;
    alone = TRY(try_lock(found.use.get(), LOCK_EX, name, until));
  }
  if (!use_if_intact()) {
    const std::string making = fmt::format("{}{}", name, kMaking);
    TRY(remove_tree(directory_.get(), making));  // left by one who was killed
    TRY(remove_tree(directory_.get(), name));
    if (::mkdirat(directory_.get(), making.c_str(), 0700) != 0)
      return failed("make", making, errno);
    const std::string place = fmt::format("{}/{}", path_, making);
    if (on_making_) on_making_(kind, Making::Begins);
    Result<std::string> facts = make(place);
    if (on_making_) on_making_(kind, Making::Ends);
    Result<void> done = facts ? finish(directory_.get(), making, name, *facts)
                              : Result<void>(std::move(facts).error());
    if (!done) {
      if (take_back) take_back(place);
      (void)remove_tree(directory_.get(), making);
      return std::move(done).error();
    }
    found.facts = std::move(*facts);
    found.made = true;
    found.touch();  // its lock may be older than it is
    const std::lock_guard guard(seen_->mutex);
    seen_->entries.insert_or_assign(name, found.facts);
  }
  TRY(share(found.use.get(), name, std::chrono::steady_clock::now() + patience_));
  return found;
}

Result<std::vector<std::string>> Cache::remove_unused(unsigned days) const {
  std::vector<std::string> removed;
  const std::time_t oldest = std::time(nullptr) - std::time_t{days} * 24 * 60 * 60;
  for (const std::string& lock_name : TRY(names_in(directory_.get()))) {
    if (!lock_name.ends_with(".lock")) continue;
    const UniqueFd use = TRY(open_at(directory_.get(), lock_name, O_RDWR));
    struct stat status = {};
    if (::fstat(use.get(), &status) != 0 || status.st_mtim.tv_sec > oldest) continue;
    if (::flock(use.get(), LOCK_EX | LOCK_NB) != 0) continue;  // somebody uses it
    const std::string name = lock_name.substr(0, lock_name.size() - 5);
    TRY(remove_tree(directory_.get(), fmt::format("{}{}", name, kMaking)));
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    TRY(remove_tree(directory_.get(), name));
    removed.push_back(fmt::format("{}/{}", path_, name));
  }
  return removed;
}

Result<std::vector<std::string>> Cache::remove_abandoned(Deadline deadline) const {
  std::vector<std::string> removed;
  for (const std::string& making : TRY(names_in(directory_.get()))) {
    if (!making.ends_with(kMaking)) continue;
    const std::string name = making.substr(0, making.size() - kMaking.size());
    const UniqueFd use = TRY(open_at(directory_.get(), name + ".lock", O_RDWR | O_CREAT));
    if (!lock_before(use.get(), deadline)) continue;  // somebody makes it
    struct stat status = {};
    if (::fstatat(directory_.get(), making.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    TRY(remove_tree(directory_.get(), making));
    removed.push_back(fmt::format("{}/{}", path_, making));
  }
  return removed;
}

}  // namespace hermetic
