#include "hermetic/outputs/change_places.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "hermetic/base/file_powers.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/mount_table.h"

namespace hermetic {
namespace {

constexpr const char* kTrialMark = "user.hermetic.trial";

Error failed(std::string_view doing, const PlannedLayer& place) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(place.source)), errno,
                      "it takes the changes of a temp");
}

Result<UniqueFd> open_and_lock(const PlannedLayer& place) {
  // The very object that was checked, and not what stands under its name by now.
  UniqueFd directory(
      ::openat(place.object->get(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open()) return failed("open", place);
  // While the command runs, and afterwards until its user opens it: what is in there could be a
  // program with powers.
  struct stat status = {};
  constexpr mode_t kOfOthers = S_IRWXG | S_IRWXO;
  if (::fstat(directory.get(), &status) != 0) return failed("look at", place);
  if ((status.st_mode & kOfOthers) != 0 &&
      ::fchmod(directory.get(), status.st_mode & 07777U & ~kOfOthers) != 0)
    return failed("close to others", place);
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) return directory;
  if (errno != EWOULDBLOCK) return failed("lock", place);
  return unsupported(fmt::format("another run has its changes in '{}'", printable(place.source)),
                     "give each run a directory of its own, or wait for the other one");
}

Result<UniqueFd> prepare(const PlannedLayer& place) {
  UniqueFd directory = TRY(open_and_lock(place));
  if (::mkdirat(directory.get(), kUpper, 0755) == 0)
    (void)::fremovexattr(directory.get(), kCopiedMark);  // of one that is gone
  else if (errno != EEXIST)
    return failed("make 'upper' in", place);
  // Without them the overlay file system can be mounted, but no directory of a layer removed.
  if (::fsetxattr(directory.get(), kTrialMark, "y", 1, 0) != 0)
    return unsupported(
        fmt::format("'{}' takes no attributes, which tell what was removed",
                    printable(place.source)),
        "choose a directory on a disk: before Linux 6.6, file systems in memory have none");
  (void)::fremovexattr(directory.get(), kTrialMark);
  // Left by a run that was killed; the kernel takes no second one.
  TRY(remove_tree(directory.get(), kWork));
  if (::mkdirat(directory.get(), kWork, 0700) != 0) return failed("make 'work' in", place);
  return directory;
}

Result<void> check_object(const PlannedLayer& layer) {
  struct statx status = {};
  if (::statx(AT_FDCWD, layer.source.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO, &status) != 0)
    return system_error(fmt::format("cannot look at '{}'", printable(layer.source)), errno);
  if (status.stx_ino == layer.inode) return {};
  return system_error(fmt::format("'{}' was replaced", printable(layer.source)), ESTALE);
}

// The kernel shows no directory as a layer in which something is mounted: it would have to show
// what lies under that.
Result<void> check_no_mounts_in(const ViewEntry& temp, const MountTable& mounts) {
  for (const PlannedLayer& layer : temp.over)
    for (const Mount* mount : mounts.below(layer.source))
      return unsupported(fmt::format("'{}' cannot be copied: something is mounted at '{}'",
                                     printable(layer.source), printable(mount->point)),
                         "unmount it, or start from another directory");
  return {};
}

bool holds_copy(const std::string& folder) {
  const std::string upper = fmt::format("{}/{}", folder, kUpper);
  return is_present(upper) && is_copy(upper);
}

// What a run with the overlay file system has changed there is the uppermost layer.
Result<void> copy_into(const std::string& folder, int directory, const ViewEntry& temp) {
  if (holds_copy(folder)) return {};
  std::vector<std::string> layers;
  for (const PlannedLayer& layer : temp.over) {
    TRY(check_object(layer));
    layers.push_back(layer.source);
  }
  return replace_by_copy(directory, folder, std::move(layers), kUpper, kWork);
}

// What cannot be cleared stays behind a door that others cannot open.
void clear_changes(int directory) {
  if (const Result<UniqueFd> upper = open_directory(directory, kUpper); upper)
    (void)clear_powers_in(upper->get());
}

Result<ChangePlaces::Place> copy(const ViewEntry& temp) {
  ChangePlaces::Place place{.temp = temp.path, .upper = {}, .directory = {}};
  std::string folder;
  if (temp.changes) {
    place.directory = TRY(open_and_lock(*temp.changes));
    folder = temp.changes->source;
  } else {
    const FillFolder fill = [](const PrivateFolder& made) -> Result<void> {
      if (::mkdirat(made.descriptor.get(), "changes", 0700) == 0) return {};
      return system_error(fmt::format("cannot make a directory in '{}'", made.path), errno);
    };
    place.own = TRY(make_private_folder("/var/tmp", fill));
    folder = place.own.path + "/changes";
    place.directory = TRY(open_directory(place.own.descriptor.get(), "changes"));
  }
  place.upper = fmt::format("{}/{}", folder, kUpper);
  Result<void> copied = copy_into(folder, place.directory.get(), temp);
  if (copied) return place;
  (void)remove_tree(place.directory.get(), kWork);
  if (!place.own.path.empty()) (void)remove_tree(AT_FDCWD, place.own.path);
  return std::move(copied).error();
}

}  // namespace

Result<ChangePlaces> ChangePlaces::make(const Plan& plan, Layering layering) {
  ChangePlaces places;
  for (const ViewEntry& entry : plan.view) {
    // What is a copy by now stays one: the kernel would let through what was removed at its top.
    const bool copies = layering == Layering::Copy ||
                        (layering == Layering::OverlayOnDisk && !entry.changes) ||
                        (entry.changes && holds_copy(entry.changes->source));
    if (!entry.over.empty() && copies) {
      places.copies_.push_back(TRY(copy(entry)));
      continue;
    }
    if (!entry.over.empty()) {
      const MountTable mounts = TRY(MountTable::of_this_process());
      TRY(check_no_mounts_in(entry, mounts));
    }
    if (entry.changes) places.places_.push_back(TRY(prepare(*entry.changes)));
  }
  return places;
}

ChangePlaces::~ChangePlaces() {
  // Nothing can be told from here. The next run removes it in any case.
  for (const UniqueFd& place : places_) {
    (void)remove_tree(place.get(), kWork);
    clear_changes(place.get());
  }
  for (const Place& copied : copies_) {
    if (copied.own.path.empty()) {
      clear_changes(copied.directory.get());
      (void)mark_as_whole(copied.upper);  // also what the command has made
    } else {
      (void)remove_tree(AT_FDCWD, copied.own.path);
    }
  }
}

}  // namespace hermetic
