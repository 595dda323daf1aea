#include "hermetic/outputs/publish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "hermetic/base/entries.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/outputs/inspect.h"
#include "hermetic/outputs/journal.h"
#include "hermetic/spec/mount_table.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;
using Place = Journal::Place;

// What is mounted below a destination would be moved, and then removed, with it.
Result<void> check_no_mounts_below(const Publication& publication) {
  const MountTable mounts = TRY(MountTable::of_this_process());
  for (const Mount* mount : mounts.below(publication.destination)) {
    const bool excepted =
        std::any_of(publication.exceptions.begin(), publication.exceptions.end(),
                    [&](const std::string& path) { return is_within(mount->point, path); });
    if (!excepted)
      return unsupported(
          fmt::format("the output '{}' was not published: something is mounted at '{}'",
                      printable(publication.destination), printable(mount->point)),
          "unmount it, or except it from the output");
  }
  return {};
}

// Publishes output after output and knows how to take everything back.
//
// One output that is replaced by one rename needs no journal: it is done or not. Everything else
// has one from its first step on.
class Publisher {
 public:
  explicit Publisher(const Staging& staging) : staging_(staging) {}

  Result<void> publish_all() {
    if (staging_.outputs().size() > 1) TRY(begin_journal());
    for (const StagedOutput& staged : staging_.outputs()) TRY(publish(staged));
    if (!journal_) return {};
    TRY(journal_->commit());
    journal_->close();
    return {};
  }

  // After a failure.
  Result<void> take_back() {
    if (!journal_) return {};
    TRY(journal_->take_back());
    journal_->close();
    return {};
  }

  // Where to look for what could not be taken back.
  [[nodiscard]] const std::string& journal_folder() const { return journal_->folder(); }

 private:
  Result<void> publish(const StagedOutput& staged) {
    const Publication& publication = staged.publication;
    TRY(check_no_mounts_below(publication));
    UniqueFd directory = TRY(open_or_make(std::string(parent_of(publication.destination))));
    const std::string name(last_component(publication.destination));
    const bool whole = publication.publish == Publish::Replace && publication.exceptions.empty();
    if (whole || publication.type == FileType::File) {
      const int error = TRY(replace_whole(staged, directory.get(), name));
      if (error == 0) return {};
      // A parent that is not ours, or a destination that is a mount point: its entries may still be
      // ours.
      const bool not_ours = error == EACCES || error == EPERM || error == EROFS || error == EBUSY;
      if (error == EXDEV) return replace_by_copy(staged, std::move(directory), name);
      if (!not_ours || publication.type != FileType::Directory) return failed(publication, error);
      const bool has_entries = TRY(is_directory_at(directory.get(), name));
      if (!has_entries) return failed(publication, error);
    }
    return replace_entries(staged, std::move(directory), name);
  }

  static Error failed(const Publication& publication, int error) {
    return system_error(
        fmt::format("cannot publish the output '{}'", printable(publication.destination)), error);
  }

  Result<void> begin_journal() {
    if (journal_) return {};
    Journal journal = TRY(Journal::begin(staging_));
    journal_.emplace(std::move(journal));
    return {};
  }

  Result<UniqueFd> open_or_make(const std::string& path) {
    Result<UniqueFd> there = open_without_links(AT_FDCWD, path);
    if (there || path == "/") return there;
    UniqueFd above = TRY(open_or_make(std::string(parent_of(path))));
    TRY(begin_journal());
    const Place parent = TRY(journal_->place(std::move(above)));
    TRY(make_directory(parent, std::string(last_component(path)), path));
    return open_without_links(AT_FDCWD, path);
  }

  Result<void> make_directory(const Place& parent, const std::string& name,
                              const std::string& path) {
    TRY(journal_->announce(
        {.kind = Kind::MakeDirectory, .directory = parent.number, .name = name}));
    if (::mkdirat(parent.descriptor, name.c_str(), 0755) != 0) {
      const int error = errno;
      // What is there belongs to somebody else.
      (void)journal_->announce({.kind = Kind::Note, .name = "was not made"});
      return system_error(fmt::format("cannot make the directory '{}'", printable(path)), error);
    }
    const std::optional<ObjectIdentity> made = TRY(identity_at(parent.descriptor, name));
    if (!made) return system_error(fmt::format("cannot make '{}'", printable(path)), ENOENT);
    return journal_->announce(
        {.kind = Kind::Made, .directory = parent.number, .name = name, .identity = *made});
  }

  // Puts the tree in the place of whatever is there, in one step. Returns an errno.
  Result<int> replace_whole(const StagedOutput& staged, int directory, const std::string& name) {
    if (!journal_) {
      const bool exists = TRY(exists_at(directory, name));
      return rename_at(staged.descriptor.get(), "tree", directory, name,
                       exists ? Renaming::Exchange : Renaming::Fresh);
    }
    UniqueFd copy(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
    if (!copy.is_open()) return system_error("cannot copy a descriptor", errno);
    const Place from = TRY(journal_->place(staged.descriptor.get()));
    const Place to = TRY(journal_->place(std::move(copy)));
    return replace(from, "tree", to, name);
  }

  Result<int> replace(const Place& from, const std::string& name, const Place& to,
                      const std::string& new_name) {
    const bool exists = TRY(exists_at(to.descriptor, new_name));
    return rename(from, name, to, new_name, exists ? Renaming::Exchange : Renaming::Fresh);
  }

  Result<int> rename(const Place& from, const std::string& name, const Place& to,
                     const std::string& new_name, Renaming renaming) {
    const std::optional<ObjectIdentity> moved = TRY(identity_at(from.descriptor, name));
    if (!moved) return ENOENT;
    TRY(journal_->announce({.kind = renaming == Renaming::Exchange ? Kind::Exchange : Kind::MoveIn,
                            .directory = to.number,
                            .name = new_name,
                            .other = from.number,
                            .other_name = name,
                            .identity = *moved}));
    return rename_at(from.descriptor, name, to.descriptor, new_name, renaming);
  }

  // Across file systems: copied beside the destination first, so that the change itself is still
  // one step. Afterwards the temporary name holds what was there before.
  Result<void> replace_by_copy(const StagedOutput& staged, UniqueFd directory,
                               const std::string& name) {
    TRY(begin_journal());
    const Place to = TRY(journal_->place(std::move(directory)));
    const std::string copy = TRY(copy_in(staged.descriptor.get(), "tree", to));
    const int error = TRY(replace(to, copy, to, name));
    if (error != 0) return failed(staged.publication, error);
    return {};
  }

  // Returns the temporary name of the copy.
  Result<std::string> copy_in(int from, const std::string& name, const Place& to) {
    std::string temporary = TRY(temporary_name());
    TRY(journal_->announce({.kind = Kind::Temporary, .directory = to.number, .name = temporary}));
    TRY(copy_tree(from, name, to.descriptor, temporary));
    return temporary;
  }

  Result<void> replace_entries(const StagedOutput& staged, UniqueFd directory,
                               const std::string& name) {
    const Publication& publication = staged.publication;
    TRY(begin_journal());
    const Place parent = TRY(journal_->place(std::move(directory)));
    const bool exists = TRY(exists_at(parent.descriptor, name));
    if (!exists) TRY(make_directory(parent, name, publication.destination));
    UniqueFd tree = TRY(open_directory(staged.descriptor.get(), "tree"));
    UniqueFd target = TRY(open_directory(parent.descriptor, name));
    const Place from = TRY(journal_->place(std::move(tree)));
    const Place to = TRY(journal_->place_in(parent, name, std::move(target)));
    return move_entries(from, to, publication.destination, publication);
  }

  // Old entries get temporary names; new ones come in their places.
  Result<void> move_entries(const Place& from, const Place& to, const std::string& path,
                            const Publication& publication) {
    const auto is_exception = [&](const std::string& entry) {
      return std::find(publication.exceptions.begin(), publication.exceptions.end(), entry) !=
             publication.exceptions.end();
    };
    const auto holds_exception = [&](const std::string& entry) {
      return std::any_of(
          publication.exceptions.begin(), publication.exceptions.end(),
          [&](const std::string& exception) { return is_strictly_within(exception, entry); });
    };
    if (publication.publish == Publish::Replace) {
      for (const std::string& name : TRY(names_in(to.descriptor))) {
        const std::string entry = join(path, name);
        if (is_exception(entry) || holds_exception(entry)) continue;
        TRY(set_aside(to, name, publication));
      }
    }
    for (const std::string& name : TRY(names_in(from.descriptor))) {
      const std::string entry = join(path, name);
      if (is_exception(entry)) continue;
      const bool old_directory = TRY(is_directory_at(to.descriptor, name));
      const bool new_directory = TRY(is_directory_at(from.descriptor, name));
      if (old_directory && new_directory) {
        UniqueFd inner_from = TRY(open_directory(from.descriptor, name));
        UniqueFd inner_to = TRY(open_directory(to.descriptor, name));
        const Place inner_source = TRY(journal_->place_in(from, name, std::move(inner_from)));
        const Place inner_target = TRY(journal_->place_in(to, name, std::move(inner_to)));
        TRY(move_entries(inner_source, inner_target, entry, publication));
        continue;
      }
      // Or what the exception keeps would go with the directory around it.
      if (holds_exception(entry) && old_directory)
        return unsupported(
            fmt::format("the output '{}' was not published: '{}' is no directory, but an exception "
                        "lies in it",
                        printable(publication.destination), printable(entry)),
            "leave it a directory");
      const bool exists = TRY(exists_at(to.descriptor, name));
      if (exists) TRY(set_aside(to, name, publication));
      TRY(move_in(from, name, to, publication));
    }
    return {};
  }

  // Takes an entry out of the way without losing it.
  Result<void> set_aside(const Place& directory, const std::string& name,
                         const Publication& publication) {
    const std::string aside = TRY(temporary_name());
    TRY(journal_->announce_all(
        {{.kind = Kind::Temporary, .directory = directory.number, .name = aside},
         {.kind = Kind::SetAside,
          .directory = directory.number,
          .name = name,
          .other_name = aside}}));
    const int error =
        rename_at(directory.descriptor, name, directory.descriptor, aside, Renaming::Fresh);
    if (error != 0) return failed(publication, error);
    return {};
  }

  Result<void> move_in(const Place& from, const std::string& name, const Place& to,
                       const Publication& publication) {
    int error = TRY(rename(from, name, to, name, Renaming::Fresh));
    if (error == EXDEV) {
      const std::string copy = TRY(copy_in(from.descriptor, name, to));
      error = TRY(rename(to, copy, to, name, Renaming::Fresh));
    }
    if (error != 0) return failed(publication, error);
    return {};
  }

  const Staging& staging_;
  std::optional<Journal> journal_;
};

}  // namespace

Result<void> publish(Staging& staging) {
  Publisher publisher(staging);
  Result<void> published = publisher.publish_all();
  if (published) return published;
  Error error = std::move(published).error();
  if (const Result<void> back = publisher.take_back(); !back) {
    staging.abandon();
    error.hint = fmt::format(
        "not everything could be put back as it was ({}); it is kept, and a later run or "
        "'hermetic gc' tries again with the journal in '{}'",
        back.error().message, publisher.journal_folder());
  }
  return error;
}

Result<void> keep_outputs(Staging& staging, const OwnPlace& place) {
  (void)staging.take_what_was_made();  // as far as it is there
  const std::string directory(place.name());
  if (::mkdirat(place.directory(), directory.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(fmt::format("cannot make the directory '{}'", printable(place.path())),
                        errno);
  const UniqueFd target = TRY(open_directory(place.directory(), directory));
  int number = 0;
  for (const StagedOutput& staged : staging.outputs()) {
    const std::string name = std::to_string(number++);
    TRY(disarm(staged));
    TRY(remove_tree(target.get(), name));
    const int error =
        rename_at(staged.descriptor.get(), "tree", target.get(), name, Renaming::Fresh);
    if (error == EXDEV) {
      TRY(copy_tree(staged.descriptor.get(), "tree", target.get(), name));
    } else if (error != 0) {
      return system_error(
          fmt::format("cannot keep the output '{}'", printable(staged.publication.path)), error);
    }
  }
  return {};
}

}  // namespace hermetic
