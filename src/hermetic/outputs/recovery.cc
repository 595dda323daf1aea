#include "hermetic/outputs/recovery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/outputs/journal.h"
#include "hermetic/outputs/undo.h"
#include "hermetic/places/private_folder.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;
using Fate = Leftover::Fate;

Result<std::string> read_file(int file, std::size_t most) {
  std::string text;
  std::vector<char> block(std::size_t{1} << 16U);
  for (;;) {
    const ssize_t size = ::read(file, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return system_error("cannot read the journal", errno);
    if (size == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(size));
    if (text.size() > most) return unsupported("the journal is too large");
  }
}

// The directories of a journal, opened again: only where they were, through no link, and only if
// they still are the same.
class Places {
 public:
  explicit Places(const std::vector<JournalRecord>& records) {
    for (const JournalRecord& record : records)
      if (record.kind == Kind::Directory) places_.push_back(&record);
  }

  Result<int> open(std::uint32_t number) {
    for (const Opened& opened : opened_)
      if (opened.number == number) return opened.descriptor.get();
    // From the nearest directory with a path of its own.
    std::vector<const JournalRecord*> way;
    for (std::uint32_t at = number; at != JournalRecord::kNowhere; at = places_[at]->directory)
      way.push_back(places_[at]);
    std::reverse(way.begin(), way.end());
    UniqueFd descriptor;
    for (const JournalRecord* place : way) {
      const int parent = descriptor.is_open() ? descriptor.get() : AT_FDCWD;
      UniqueFd next = TRY(open_without_links(parent, place->name));
      const ObjectIdentity identity = TRY(identity_of_directory(next.get()));
      if (identity != place->identity)
        return unsupported(fmt::format("'{}' is another directory now", printable(place->name)));
      descriptor = std::move(next);
    }
    constexpr std::size_t kMostOpen = 64;
    if (opened_.size() == kMostOpen) opened_.pop_front();
    return opened_.emplace_back(Opened{number, std::move(descriptor)}).descriptor.get();
  }

 private:
  struct Opened {
    std::uint32_t number = 0;
    UniqueFd descriptor;
  };

  std::vector<const JournalRecord*> places_;
  std::deque<Opened> opened_;
};

// A journal that nobody writes any more.
class AbandonedJournal {
 public:
  // `folder` is locked.
  static Result<AbandonedJournal> read(int folder) {
    AbandonedJournal journal;
    journal.file_ =
        UniqueFd(::openat(folder, kJournalFile, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
    if (!journal.file_.is_open()) return system_error("cannot open the journal", errno);
    struct stat status = {};
    if (::fstat(journal.file_.get(), &status) != 0)
      return system_error("cannot look at the journal", errno);
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
      return unsupported("the journal is no file of this user");
    const std::string text = TRY(read_file(journal.file_.get(), kLargestJournal));
    ParsedJournal parsed = TRY(parse_journal(text));
    journal.size_ = parsed.size;
    journal.records_ = std::move(parsed.records);
    // One that was copied here, out of an archive for example, speaks of somewhere else.
    const ObjectIdentity here = TRY(identity_of_directory(folder));
    if (journal.records_.front().identity != here)
      return unsupported("the journal is that of another folder");
    return journal;
  }

  [[nodiscard]] bool has(Kind kind) const {
    return std::any_of(records_.begin(), records_.end(),
                       [kind](const JournalRecord& record) { return record.kind == kind; });
  }

  // Each part may be interrupted as well, and is done again then.
  Result<void> follow() {
    Places places(records_);
    const OpenPlace open = [&](std::uint32_t number) { return places.open(number); };
    if (!has(Kind::Committed) && !has(Kind::TakenBack)) {
      Result<void> undone = take_back(records_, open);
      if (!undone) {
        note(undone.error().message);
        return undone;
      }
      append({.kind = Kind::TakenBack});
    }
    TRY(remove_temporaries(records_, open));
    for (const JournalRecord& record : records_)
      if (record.kind == Kind::Folder) TRY(remove_folder(record));
    return {};
  }

 private:
  static Result<void> remove_folder(const JournalRecord& record) {
    const Result<UniqueFd> parent =
        open_without_links(AT_FDCWD, std::string(parent_of(record.name)));
    if (!parent) return {};
    const std::string name(last_component(record.name));
    const Result<UniqueFd> folder = open_directory(parent->get(), name);
    if (!folder) return {};
    const ObjectIdentity identity = TRY(identity_of_directory(folder->get()));
    if (identity != record.identity) return {};
    return remove_tree(parent->get(), name);
  }

  // For people; once is enough.
  void note(const std::string& text) {
    if (!has(Kind::Note)) append({.kind = Kind::Note, .name = text});
  }

  // Without it the next one does the same again.
  void append(const JournalRecord& record) {
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) return;
    const std::string text = encode(record);
    if (::write(file_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
      size_ += text.size();
  }

  UniqueFd file_;
  std::size_t size_ = 0;
  std::vector<JournalRecord> records_;
};

class Sweep {
 public:
  explicit Sweep(const std::vector<std::string>& journal_folders) {
    for (const std::string& folder : journal_folders)
      if (const Result<UniqueFd> directory = open_directory(AT_FDCWD, folder); directory)
        if (const Result<ObjectIdentity> identity = identity_of_directory(directory->get());
            identity)
          journal_folders_.push_back(*identity);
  }

  void look_through(const std::string& base, int directory, const std::vector<std::string>& names) {
    const std::string prefix = private_folder_prefix();
    for (const std::string& name : names)
      if (name.starts_with(prefix)) examine(base, directory, name, Claims::Follow);
  }

  std::vector<Leftover> found;

 private:
  enum class Claims { Follow, Ignore };

  // By its identity: its name could lead elsewhere.
  [[nodiscard]] bool has_journals(int directory) const {
    const Result<ObjectIdentity> identity = identity_of_directory(directory);
    return identity && std::ranges::find(journal_folders_, *identity) != journal_folders_.end();
  }

  static bool may_exist(int directory, const std::string& name) {
    const Result<bool> exists = exists_at(directory, name);
    return !exists || *exists;
  }

  void examine(const std::string& base, int directory, const std::string& name, Claims claims) {
    const Result<UniqueFd> folder = open_directory(directory, name);
    struct stat status = {};
    if (!folder || ::fstat(folder->get(), &status) != 0 || status.st_uid != ::geteuid()) return;
    if (!lock_abandoned(folder->get())) return;
    const std::string path = join(base, name);
    const bool marked = (status.st_mode & 07777U) == kJournalMode;
    if (marked && may_exist(folder->get(), kJournalFile)) {
      if (has_journals(directory)) return follow_journal(path, directory, folder->get());
      return keep(path, unsupported("it looks like a journal, and lies where a command may have "
                                    "made it: it is not followed"));
    }
    if (may_exist(folder->get(), kClaimFile)) {
      if (claims == Claims::Follow) follow_claim(path, folder->get());
      return;
    }
    remove(path, directory, Fate::Removed);
  }

  void follow_journal(const std::string& path, int directory, int folder) {
    Result<AbandonedJournal> journal = AbandonedJournal::read(folder);
    if (!journal) return keep(path, journal.error());
    if (const Result<void> followed = journal->follow(); !followed)
      return keep(path, followed.error());
    remove(path, directory, journal->has(Kind::Committed) ? Fate::Finished : Fate::TakenBack);
  }

  // "" if it is no file. A command may have made the folder: a fifo would be waited for.
  static std::string claim_in(int folder) {
    const UniqueFd file(
        ::openat(folder, kClaimFile, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status = {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
    const Result<std::string> text = read_file(file.get(), PATH_MAX);
    return text ? *text : "";
  }

  // A staging folder goes with its journal, wherever that is.
  void follow_claim(const std::string& path, int folder) {
    const std::string claim = claim_in(folder);
    const std::string journal = claim.substr(0, claim.find('\n'));
    if (const Result<std::string> normal = normal_path(journal); normal && *normal == journal) {
      const std::string base(parent_of(journal));
      const Result<UniqueFd> directory = open_directory(AT_FDCWD, base);
      const std::string name(last_component(journal));
      const bool ours =
          directory && has_journals(directory->get()) && name.starts_with(private_folder_prefix());
      if (ours && may_exist(directory->get(), name))
        return examine(base, directory->get(), name, Claims::Ignore);
    }
    keep(path, unsupported(fmt::format("the journal in '{}' is not there, or not where journals "
                                       "are, which says whether what it holds was published",
                                       printable(journal))));
  }

  void remove(const std::string& path, int directory, Fate fate) {
    const Result<void> removed = remove_tree(directory, std::string(last_component(path)));
    if (!removed) return keep(path, removed.error());
    found.push_back({.fate = fate, .path = path, .detail = ""});
  }

  void keep(const std::string& path, const Error& why) {
    // A journal is met once more for each folder that it claims.
    const auto same = [&](const Leftover& leftover) { return leftover.path == path; };
    if (std::any_of(found.begin(), found.end(), same)) return;
    found.push_back({.fate = Fate::Kept, .path = path, .detail = why.message});
  }

  std::vector<ObjectIdentity> journal_folders_;
};

}  // namespace

std::string_view to_string(Leftover::Fate fate) {
  switch (fate) {
    case Fate::Removed: return "removed";
    case Fate::Finished: return "finished";
    case Fate::TakenBack: return "taken back";
    case Fate::Kept: return "kept";
  }
  return "";
}

Result<std::vector<Leftover>> recover_abandoned(const std::string& base) {
  return recover_abandoned(base, {kTemporaryFolders.begin(), kTemporaryFolders.end()});
}

Result<std::vector<Leftover>> recover_abandoned(const std::string& base,
                                                const std::vector<std::string>& journal_folders) {
  const UniqueFd directory(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open())
    return system_error(fmt::format("cannot open '{}'", printable(base)), errno);
  const std::vector<std::string> names = TRY(names_in(directory.get()));
  Sweep sweep(journal_folders);
  sweep.look_through(base, directory.get(), names);
  return std::move(sweep.found);
}

}  // namespace hermetic
