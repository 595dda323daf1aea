#include "hermetic/outputs/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/text.h"
#include "hermetic/outputs/undo.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;

Error cannot_keep(int error) {
  return system_error("cannot keep a journal of what is published", error,
                      "make /var/tmp or /tmp writable");
}

// All of it or, as far as that can be had, none.
Result<void> append(int file, std::size_t& size, std::string_view text) {
  if (text.size() > kLargestJournal - size) return cannot_keep(EFBIG);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      (void)::ftruncate(file, static_cast<off_t>(size));
      return cannot_keep(error);
    }
    done += static_cast<std::size_t>(written);
  }
  size += text.size();
  return {};
}

Result<UniqueFd> make_file(int folder, const char* name) {
  UniqueFd file(::openat(folder, name,
                         O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot_keep(errno);
  return file;
}

}  // namespace

std::string journal_base() {
  for (const char* base : kTemporaryFolders)
    if (::access(base, W_OK | X_OK) == 0) return base;
  return "";
}

Result<PrivateFolder> Journal::make_folder(const Staging& staging, Journal& journal) {
  const auto fill = [&](const PrivateFolder& folder) -> Result<void> {
    journal.file_ = TRY(make_file(folder.descriptor.get(), kJournalFile));
    journal.size_ = 0;
    journal.records_.clear();
    const ObjectIdentity own = TRY(identity_of_directory(folder.descriptor.get()));
    std::vector<JournalRecord> records = {{.kind = Kind::Header, .identity = own}};
    for (const StagedOutput& staged : staging.outputs()) {
      const int descriptor = staged.descriptor.get();
      JournalRecord record{.kind = Kind::Folder};
      record.name = TRY(real_path_of(descriptor));
      record.identity = TRY(identity_of_directory(descriptor));
      records.push_back(std::move(record));
    }
    TRY(journal.announce_all(std::move(records)));
    if (::fchmod(folder.descriptor.get(), kJournalMode) != 0) return cannot_keep(errno);
    return {};
  };
  Result<PrivateFolder> made = cannot_keep(ENOENT);
  for (const char* base : kTemporaryFolders) {
    if (::access(base, W_OK | X_OK) != 0) continue;
    made = make_private_folder(base, fill);
    if (made) break;
  }
  return made;
}

Result<Journal> Journal::begin(const Staging& staging) {
  Journal journal;
  journal.folder_ = TRY(make_folder(staging, journal));
  if (Result<void> claimed = journal.claim(staging); !claimed) {
    journal.close();
    return std::move(claimed).error();
  }
  return journal;
}

Result<void> Journal::claim(const Staging& staging) {
  for (const StagedOutput& staged : staging.outputs()) {
    const UniqueFd file = TRY(make_file(staged.descriptor.get(), kClaimFile));
    claimed_.push_back(staged.directory);
    std::size_t size = 0;
    TRY(append(file.get(), size, folder_.path + "\n"));
  }
  return {};
}

Result<Journal::Place> Journal::place(int descriptor) {
  JournalRecord record{.kind = Kind::Directory};
  record.name = TRY(real_path_of(descriptor));
  record.identity = TRY(identity_of_directory(descriptor));
  TRY(announce(std::move(record)));
  places_.push_back(descriptor);
  return Place{descriptor, static_cast<std::uint32_t>(places_.size() - 1)};
}

Result<Journal::Place> Journal::place(UniqueFd descriptor) {
  const Place place = TRY(this->place(descriptor.get()));
  kept_.push_back(std::move(descriptor));
  return place;
}

Result<Journal::Place> Journal::place_in(const Place& parent, const std::string& name,
                                         UniqueFd descriptor) {
  JournalRecord record{.kind = Kind::Directory, .directory = parent.number, .name = name};
  record.identity = TRY(identity_of_directory(descriptor.get()));
  TRY(announce(std::move(record)));
  places_.push_back(descriptor.get());
  kept_.push_back(std::move(descriptor));
  return Place{places_.back(), static_cast<std::uint32_t>(places_.size() - 1)};
}

Result<void> Journal::announce(JournalRecord record) {
  TRY(append(file_.get(), size_, encode(record)));
  records_.push_back(std::move(record));
  return {};
}

Result<void> Journal::announce_all(std::vector<JournalRecord> records) {
  std::string text;
  for (const JournalRecord& record : records) text += encode(record);
  TRY(append(file_.get(), size_, text));
  std::move(records.begin(), records.end(), std::back_inserter(records_));
  return {};
}

Result<int> Journal::open(std::uint32_t number) const { return places_.at(number); }

Result<void> Journal::commit() { return announce({.kind = Kind::Committed}); }

Result<void> Journal::take_back() {
  Result<void> result =
      hermetic::take_back(records_, [this](std::uint32_t number) { return open(number); });
  if (!result) {
    (void)announce({.kind = Kind::Note, .name = result.error().message});
    return result;
  }
  // If this cannot be written, taking back once more does no harm.
  (void)announce({.kind = Kind::TakenBack});
  return {};
}

void Journal::close() {
  const Result<void> removed =
      remove_temporaries(records_, [this](std::uint32_t number) { return open(number); });
  // A later run tries again.
  if (!removed) return;
  // The journal is the last to go: by it the others are found, wherever they are.
  for (const std::string& folder : claimed_)
    if (!remove_tree(AT_FDCWD, folder)) return;
  (void)remove_tree(AT_FDCWD, folder_.path);
}

}  // namespace hermetic
