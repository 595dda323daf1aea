#include "hermetic/workspace/mirror.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"

namespace hermetic {
namespace {

// Two descriptors for each.
constexpr int kDeepestMirrored = 200;

bool is_carried_over(mode_t mode) { return S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode); }

// Some file systems take no notice of case.
bool belongs_to_git(const std::string& name) { return ::strcasecmp(name.c_str(), ".git") == 0; }

Error failed_to(std::string_view doing, const std::string& name) {
  return system_error(fmt::format("cannot {} '{}' of the worktree", doing, printable(name)), errno);
}

}  // namespace

bool Mirror::Stamp::operator==(const Stamp& other) const {
  const auto same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  if (mode != other.mode) return false;
  // What is in a directory is looked at by itself.
  if (S_ISDIR(mode)) return true;
  return inode == other.inode && size == other.size && same(modified, other.modified) &&
         (!changed || !other.changed || same(*changed, *other.changed));
}

class Mirror::Transfer {
 public:
  enum class Direction { In, Out };
  Transfer(Direction direction, int to_root)
      : caller_wins_(direction == Direction::Out),
        to_root_(to_root),
        from_(direction == Direction::Out ? &Entry::inner : &Entry::outer),
        to_(direction == Direction::Out ? &Entry::outer : &Entry::inner) {}

  Result<void> carry_over(int from, int to, Entries& known, int depth) {
    std::vector<std::string> names = TRY(names_in(from));
    std::erase_if(names, belongs_to_git);
    TRY(remove_gone(from, to, known));
    for (const std::string& name : names) {
      const std::optional<Stamp> now = look_at_source(from, name);
      if (now && is_carried_over(now->mode)) TRY(carry_entry(from, to, name, *now, known, depth));
    }
    return {};
  }

 private:
  static std::optional<Stamp> look_at(int directory, const std::string& name, bool is_callers) {
    struct stat status = {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
    // A mode has no more than a copy of it gets.
    Stamp stamp{.mode = status.st_mode & (S_IFMT | 0777U),
                .inode = status.st_ino,
                .size = status.st_size,
                .modified = status.st_mtim,
                .changed = status.st_ctim,
                .names = status.st_nlink};
    // It also changes when another name of the file comes or goes, as we let it. The caller does
    // not set times to hide what it has done.
    if (is_callers && status.st_nlink > 1) stamp.changed.reset();
    return stamp;
  }
  [[nodiscard]] std::optional<Stamp> look_at_source(int from, const std::string& name) const {
    return look_at(from, name, !caller_wins_);
  }
  [[nodiscard]] std::optional<Stamp> look_at_target(int to, const std::string& name) const {
    return look_at(to, name, caller_wins_);
  }

  // What was there the last time and is not any more.
  Result<void> remove_gone(int from, int to, Entries& known) {
    for (auto entry = known.begin(); entry != known.end();) {
      const std::optional<Stamp> now = look_at_source(from, entry->first);
      if (now && is_carried_over(now->mode)) {
        ++entry;
        continue;
      }
      TRY(remove_known(to, entry->first, entry->second));
      entry = known.erase(entry);
    }
    return {};
  }

  // But for what its reader has changed, if that is the caller.
  Result<void> remove_known(int to, const std::string& name, Entry& entry) {
    if (!caller_wins_) return remove_tree(to, name);
    const std::optional<Stamp> there = look_at_target(to, name);
    if (!there || *there != entry.*to_) return {};
    if (!S_ISDIR(there->mode)) return remove_tree(to, name);
    {
      const Unlocked unlocked(to, name);
      const UniqueFd directory = TRY(open_directory(to, name));
      for (auto& [below, known] : entry.below) TRY(remove_known(directory.get(), below, known));
      std::vector<std::string> left = TRY(names_in(directory.get()));
      std::erase_if(left, belongs_to_git);
      if (!left.empty()) return {};
    }
    return remove_tree(to, name);
  }

  Result<void> carry_entry(int from, int to, const std::string& name, const Stamp& now,
                           Entries& known, int depth) {
    const auto found = known.find(name);
    const bool is_known = found != known.end();
    const std::optional<Stamp> there = look_at_target(to, name);
    const bool is_changed = !is_known || found->second.*from_ != now;
    if (S_ISDIR(now.mode)) return carry_directory(from, to, name, now, there, known, depth);
    const bool is_as_it_was = is_known ? there && *there == found->second.*to_ : !there;
    if (!is_changed && is_as_it_was) note_name(now, name);
    if (!is_changed) return {};
    if (caller_wins_ && !is_as_it_was) return {};
    // The parts of what was a directory are gone with it.
    TRY(remove_tree(to, name));
    if (!takes_other_name(now, to, name)) {
      const Unlocked unlocked(from, name);
      TRY(copy_tree(from, name, to, name));
      note_name(now, name);
    }
    return remember(from, to, name, Entry(), known);
  }

  // What is on the other side under one of its names by now.
  void note_name(const Stamp& now, const std::string& name) {
    if (now.names > 1 && S_ISREG(now.mode)) names_.emplace(now.inode, folder_ + name);
  }
  bool takes_other_name(const Stamp& now, int to, const std::string& name) const {
    const auto other = names_.find(now.inode);
    return now.names > 1 && other != names_.end() &&
           ::linkat(to_root_, other->second.c_str(), to, name.c_str(), 0) == 0;
  }

  Result<void> carry_directory(int from, int to, const std::string& name, const Stamp& now,
                               const std::optional<Stamp>& there, Entries& known, int depth) {
    if (depth >= kDeepestMirrored) return {};
    const auto found = known.find(name);
    const bool is_known = found != known.end();
    const bool is_as_it_was = is_known ? there && *there == found->second.*to_ : !there;
    if (caller_wins_ && !is_as_it_was && !(there && S_ISDIR(there->mode))) return {};
    if (there && !S_ISDIR(there->mode)) TRY(remove_tree(to, name));
    const bool is_new = !there || !S_ISDIR(there->mode);
    if (is_new && ::mkdirat(to, name.c_str(), 0700) != 0) return failed_to("make", name);
    Entry entry = is_known ? std::move(found->second) : Entry();
    const bool keeps_mode = !is_new && is_known && entry.*from_ == now;
    const mode_t mode = (keeps_mode ? there->mode : now.mode) & 0777U;
    if (is_new) entry.below.clear();
    {
      const Unlocked readable(from, name);
      const Unlocked writable(to, name);
      const UniqueFd source = TRY(open_directory(from, name));
      const UniqueFd target = TRY(open_directory(to, name));
      const std::size_t above = folder_.size();
      folder_ += name + "/";
      TRY(carry_over(source.get(), target.get(), entry.below, depth + 1));
      folder_.resize(above);
      if (is_new) TRY(set_times(source.get(), target.get(), name));
    }
    if (::fchmodat(to, name.c_str(), mode, 0) != 0) return failed_to("set the mode of", name);
    return remember(from, to, name, std::move(entry), known);
  }

  static Result<void> set_times(int from, int to, const std::string& name) {
    struct stat status = {};
    if (::fstat(from, &status) != 0) return failed_to("look at", name);
    const timespec times[2] = {status.st_atim, status.st_mtim};
    return ::futimens(to, times) == 0 ? Result<void>() : failed_to("set the times of", name);
  }

  Result<void> remember(int from, int to, const std::string& name, Entry entry, Entries& known) {
    const std::optional<Stamp> source = look_at_source(from, name);
    const std::optional<Stamp> target = look_at_target(to, name);
    if (!source || !target) return failed_to("look at", name);
    entry.*from_ = *source;
    entry.*to_ = *target;
    known[name] = std::move(entry);
    return {};
  }

  bool caller_wins_;
  int to_root_;
  std::string folder_;                  // from the root to the one that is carried over: "a/b/"
  std::map<ino_t, std::string> names_;  // of files with several, from the root
  Stamp Entry::*from_;
  Stamp Entry::*to_;
};

Mirror::Mirror(std::string inner, std::string outer)
    : inner_(std::move(inner)), outer_(std::move(outer)) {}

Result<void> Mirror::bring_out() {
  const Unlocked unlocked(AT_FDCWD, inner_);
  const UniqueFd from = TRY(open_directory(AT_FDCWD, inner_));
  const UniqueFd to = TRY(open_directory(AT_FDCWD, outer_));
  return Transfer(Transfer::Direction::Out, to.get()).carry_over(from.get(), to.get(), known_, 0);
}

Result<void> Mirror::bring_in() {
  const Unlocked unlocked(AT_FDCWD, inner_);
  const UniqueFd from = TRY(open_directory(AT_FDCWD, outer_));
  const UniqueFd to = TRY(open_directory(AT_FDCWD, inner_));
  return Transfer(Transfer::Direction::In, to.get()).carry_over(from.get(), to.get(), known_, 0);
}

}  // namespace hermetic
