#include "hermetic/outputs/publish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/outputs/inspect.h"
#include "hermetic/spec/mount_table.h"

namespace hermetic {
namespace {

constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE
constexpr unsigned kExchange = 2;   // RENAME_EXCHANGE

int rename_at(int from, const std::string& name, int to, const std::string& new_name,
              unsigned flags) {
  const long result = ::syscall(SYS_renameat2, from, name.c_str(), to, new_name.c_str(), flags);
  return result == 0 ? 0 : errno;
}

bool exists_at(int directory, const std::string& name) {
  struct stat status = {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool is_directory_at(int directory, const std::string& name) {
  struct stat status = {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

// The destination has no links in it, and if somebody put one there meanwhile, it is not followed.
Result<UniqueFd> open_without_links(const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;  // it need not be readable to be written to
  how.resolve = RESOLVE_NO_SYMLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (!fd.is_open()) return system_error(fmt::format("cannot open '{}'", printable(path)), errno);
  return fd;
}

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

// A name that nobody can have put there before.
Result<std::string> temporary_name() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    return system_error("cannot get random bytes", errno);
  return fmt::format(".hermetic-{:016x}", random);
}

// Publishes output after output and knows how to take everything back.
class Publisher {
 public:
  Publisher() = default;
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  ~Publisher() {
    bool undone = true;
    for (; !undo_.empty(); undo_.pop_back()) undone = undo_.back()() && undone;
    // What could not be put back stays under its temporary name: nothing is lost.
    if (!undone)
      for (Rubbish& rubbish : rubbish_) rubbish.keep();
  }

  void commit() { undo_.clear(); }

  Result<void> publish(const StagedOutput& staged) {
    const Publication& publication = staged.publication;
    TRY(check_no_mounts_below(publication));
    const std::string parent(parent_of(publication.destination));
    TRY(make_directories(parent));
    const UniqueFd directory = TRY(open_without_links(parent));
    const std::string name(last_component(publication.destination));
    const bool whole = publication.publish == Publish::Replace && publication.exceptions.empty();
    if (whole || publication.type == FileType::File) {
      const int error = replace(staged.descriptor.get(), "tree", directory.get(), name);
      if (error == 0) return {};
      // A parent that is not ours, or a destination that is a mount point: its entries may still be
      // ours.
      const bool by_entry =
          (error == EACCES || error == EPERM || error == EROFS || error == EBUSY) &&
          publication.type == FileType::Directory && is_directory_at(directory.get(), name);
      if (error == EXDEV) return replace_by_copy(staged, directory.get(), name);
      if (!by_entry) return failed(publication, error);
    }
    if (!exists_at(directory.get(), name)) {
      const UniqueFd* kept = TRY(keep_copy(directory.get()));
      if (::mkdirat(directory.get(), name.c_str(), 0755) != 0) return failed(publication, errno);
      undo_.emplace_back(
          [kept, name] { return ::unlinkat(kept->get(), name.c_str(), AT_REMOVEDIR) == 0; });
    }
    const UniqueFd from = TRY(open_directory(staged.descriptor.get(), "tree"));
    const UniqueFd to = TRY(open_directory(directory.get(), name));
    return move_entries(from.get(), to.get(), publication.destination, publication);
  }

 private:
  static Error failed(const Publication& publication, int error) {
    return system_error(
        fmt::format("cannot publish the output '{}'", printable(publication.destination)), error);
  }

  // Descriptors that undoing needs live as long as the publisher. They are made before what they
  // undo is done, or there would be no way back when there are no more to be had.
  const UniqueFd* keep(UniqueFd fd) {
    return kept_.emplace_back(std::make_unique<UniqueFd>(std::move(fd))).get();
  }
  Result<const UniqueFd*> keep_copy(int fd) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy.is_open()) return system_error("cannot copy a descriptor", errno);
    return keep(std::move(copy));
  }

  Result<void> make_directories(const std::string& path) {
    if (const Result<UniqueFd> there = open_without_links(path); there) return {};
    const std::string above(parent_of(path));
    if (path != above) TRY(make_directories(above));
    const UniqueFd* parent = keep(TRY(open_without_links(above)));
    const std::string name(last_component(path));
    if (::mkdirat(parent->get(), name.c_str(), 0755) != 0)
      return system_error(fmt::format("cannot make the directory '{}'", printable(path)), errno);
    undo_.emplace_back(
        [parent, name] { return ::unlinkat(parent->get(), name.c_str(), AT_REMOVEDIR) == 0; });
    return {};
  }

  // Puts an entry in the place of whatever is there, in one step that can be undone. Returns an
  // errno.
  int replace(int from, const std::string& name, int to, const std::string& new_name) {
    const Result<const UniqueFd*> from_kept = keep_copy(from);
    if (!from_kept) return from_kept.error().os_error;
    const Result<const UniqueFd*> to_kept = keep_copy(to);
    if (!to_kept) return to_kept.error().os_error;
    const bool exists = exists_at(to, new_name);
    const int error = rename_at(from, name, to, new_name, exists ? kExchange : kNoReplace);
    if (error != 0) return error;
    undo_.emplace_back([a = *from_kept, b = *to_kept, name, new_name, exists] {
      return rename_at(b->get(), new_name, a->get(), name, exists ? kExchange : kNoReplace) == 0;
    });
    return 0;
  }

  // Across file systems: copied beside the destination first, so that the change itself is still
  // one step.
  Result<void> replace_by_copy(const StagedOutput& staged, int directory, const std::string& name) {
    const std::string temporary = TRY(temporary_name());
    // Afterwards the temporary name holds what was there before, or what could not be finished.
    const UniqueFd* kept = TRY(keep_copy(directory));
    rubbish_.emplace_back(kept, temporary);
    TRY(copy_tree(staged.descriptor.get(), "tree", directory, temporary));
    if (const int error = replace(directory, temporary, directory, name); error != 0)
      return failed(staged.publication, error);
    return {};
  }

  // Old entries go to "old" beside the staged tree; new ones come in their places.
  Result<void> move_entries(int from, int to, const std::string& path,
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
    // One pair for all entries: an output may have more of them than a process has descriptors.
    const UniqueFd* kept_from = TRY(keep_copy(from));
    const UniqueFd* kept_to = TRY(keep_copy(to));
    if (publication.publish == Publish::Replace) {
      for (const std::string& name : TRY(names_in(to))) {
        const std::string entry = join(path, name);
        if (is_exception(entry) || holds_exception(entry)) continue;
        TRY(set_aside(kept_to, name, publication));
      }
    }
    for (const std::string& name : TRY(names_in(from))) {
      const std::string entry = join(path, name);
      if (is_exception(entry)) continue;
      const bool both_directories = is_directory_at(from, name) && is_directory_at(to, name);
      if (both_directories) {
        const UniqueFd inner_from = TRY(open_directory(from, name));
        const UniqueFd inner_to = TRY(open_directory(to, name));
        TRY(move_entries(inner_from.get(), inner_to.get(), entry, publication));
        continue;
      }
      // Or what the exception keeps would go with the directory around it.
      if (holds_exception(entry) && is_directory_at(to, name))
        return unsupported(
            fmt::format("the output '{}' was not published: '{}' is no directory, but an exception "
                        "lies in it",
                        printable(publication.destination), printable(entry)),
            "leave it a directory");
      if (exists_at(to, name)) TRY(set_aside(kept_to, name, publication));
      TRY(move_in(kept_from, name, kept_to, publication));
    }
    return {};
  }

  // Takes an entry out of the way without losing it.
  Result<void> set_aside(const UniqueFd* directory, const std::string& name,
                         const Publication& publication) {
    const std::string aside = TRY(temporary_name());
    const int error = rename_at(directory->get(), name, directory->get(), aside, kNoReplace);
    if (error != 0) return failed(publication, error);
    undo_.emplace_back([directory, name, aside] {
      return rename_at(directory->get(), aside, directory->get(), name, kNoReplace) == 0;
    });
    rubbish_.emplace_back(directory, aside);
    return {};
  }

  Result<void> move_in(const UniqueFd* from, const std::string& name, const UniqueFd* to,
                       const Publication& publication) {
    const int error = rename_at(from->get(), name, to->get(), name, kNoReplace);
    if (error != 0 && error != EXDEV) return failed(publication, error);
    if (error == 0) {
      undo_.emplace_back([to, from, name] {
        return rename_at(to->get(), name, from->get(), name, kNoReplace) == 0;
      });
      return {};
    }
    const std::string temporary = TRY(temporary_name());
    rubbish_.emplace_back(to, temporary);
    TRY(copy_tree(from->get(), name, to->get(), temporary));
    if (const int moved = rename_at(to->get(), temporary, to->get(), name, kNoReplace); moved != 0)
      return failed(publication, moved);
    undo_.emplace_back([to, temporary, name] {
      return rename_at(to->get(), name, to->get(), temporary, kNoReplace) == 0;
    });
    return {};
  }

  // Destroyed from the last to the first: undoing (in the destructor's body) needs the descriptors,
  // and only after it may what is under temporary names go.
  class Rubbish {
   public:
    Rubbish(const UniqueFd* directory, std::string name)
        : directory_(directory), name_(std::move(name)) {}
    Rubbish(const Rubbish&) = delete;
    Rubbish& operator=(const Rubbish&) = delete;
    Rubbish(Rubbish&& other) noexcept
        : directory_(std::exchange(other.directory_, nullptr)), name_(std::move(other.name_)) {}
    Rubbish& operator=(Rubbish&&) = delete;
    void keep() { directory_ = nullptr; }
    ~Rubbish() {
      if (directory_ != nullptr) (void)remove_tree(directory_->get(), name_);
    }

   private:
    const UniqueFd* directory_;
    std::string name_;
  };

  std::vector<std::unique_ptr<UniqueFd>> kept_;
  std::vector<Rubbish> rubbish_;
  std::vector<std::function<bool()>> undo_;
};

}  // namespace

Result<void> publish(const Staging& staging) {
  Publisher publisher;
  for (const StagedOutput& staged : staging.outputs()) TRY(publisher.publish(staged));
  publisher.commit();
  return {};
}

Result<void> keep_outputs(const Staging& staging, const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(fmt::format("cannot make the directory '{}'", printable(directory)), errno);
  const UniqueFd target = TRY(open_directory(AT_FDCWD, directory));
  int number = 0;
  for (const StagedOutput& staged : staging.outputs()) {
    const std::string name = std::to_string(number++);
    TRY(disarm(staged));
    TRY(remove_tree(target.get(), name));
    const int error = rename_at(staged.descriptor.get(), "tree", target.get(), name, kNoReplace);
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
