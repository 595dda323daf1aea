#include "hermetic/outputs/undo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;

Error cannot_put_back(const std::string& name, int error) {
  return system_error(fmt::format("cannot put back '{}'", printable(name)), error);
}

// Somebody may use the directory by now: then it stays.
Result<void> remove_made(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0) return {};
  if (errno == ENOENT || errno == ENOTDIR || errno == ENOTEMPTY || errno == EEXIST) return {};
  return system_error(fmt::format("cannot remove '{}'", printable(name)), errno);
}

// The temporary name says that it was done: nobody else can have made it.
Result<void> undo_set_aside(const JournalRecord& record, int directory) {
  const int error =
      rename_at(directory, record.other_name, directory, record.name, Renaming::Fresh);
  if (error != 0 && error != ENOENT) return cannot_put_back(record.name, error);
  return {};
}

Result<void> undo_move_in(const JournalRecord& record, int directory, int other) {
  const std::optional<ObjectIdentity> there = TRY(identity_at(directory, record.name));
  if (!there || *there != record.identity) return {};  // not done, or not ours any more
  const int error = rename_at(directory, record.name, other, record.other_name, Renaming::Fresh);
  if (error != 0) return cannot_put_back(record.other_name, error);
  return {};
}

Result<void> undo_exchange(const JournalRecord& record, int directory, int other) {
  const std::optional<ObjectIdentity> there = TRY(identity_at(directory, record.name));
  if (there && *there == record.identity) {
    const int error =
        rename_at(directory, record.name, other, record.other_name, Renaming::Exchange);
    if (error != 0) return cannot_put_back(record.name, error);
    return {};
  }
  const std::optional<ObjectIdentity> beside = TRY(identity_at(other, record.other_name));
  if (beside && *beside == record.identity) return {};  // not done
  return unsupported(fmt::format(
      "'{}' is no longer what was put there, so that what was there before cannot be put back",
      printable(record.name)));
}

Result<void> undo(const JournalRecord& record, bool last, const OpenPlace& open) {
  const auto is_step = [&] {
    switch (record.kind) {
      case Kind::MakeDirectory:
      case Kind::Made:
      case Kind::SetAside:
      case Kind::MoveIn:
      case Kind::Exchange: return true;
      default: return false;
    }
  };
  if (!is_step()) return {};
  const int directory = TRY(open(record.directory));
  if (record.kind == Kind::SetAside) return undo_set_aside(record, directory);
  if (record.kind == Kind::MakeDirectory) {
    // If anything follows, either "made" says which one it is, or it was not made.
    if (!last) return {};
    return remove_made(directory, record.name);
  }
  if (record.kind == Kind::Made) {
    const std::optional<ObjectIdentity> there = TRY(identity_at(directory, record.name));
    if (!there || *there != record.identity) return {};
    return remove_made(directory, record.name);
  }
  const int other = TRY(open(record.other));
  return record.kind == Kind::MoveIn ? undo_move_in(record, directory, other)
                                     : undo_exchange(record, directory, other);
}

}  // namespace

Result<void> take_back(std::span<const JournalRecord> records, const OpenPlace& open) {
  Result<void> result;
  for (std::size_t i = records.size(); i-- > 0;) {
    Result<void> undone = undo(records[i], i + 1 == records.size(), open);
    if (!undone && result) result = std::move(undone);
  }
  return result;
}

Result<void> remove_temporaries(std::span<const JournalRecord> records, const OpenPlace& open) {
  Result<void> result;
  for (const JournalRecord& record : records) {
    if (record.kind != Kind::Temporary) continue;
    Result<int> directory = open(record.directory);
    if (!directory) {
      // A directory that was moved, removed or replaced since has taken it along.
      const int error = directory.error().os_error;
      const bool elsewhere = error == 0 || error == ENOENT || error == ENOTDIR || error == ELOOP;
      if (!elsewhere && result) result = std::move(directory).error();
      continue;
    }
    Result<void> removed = remove_tree(*directory, record.name);
    if (!removed && result) result = std::move(removed);
  }
  return result;
}

}  // namespace hermetic
