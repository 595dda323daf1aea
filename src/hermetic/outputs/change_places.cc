#include "hermetic/outputs/change_places.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

Result<UniqueFd> prepare(const PlannedLayer& place) {
  const auto failed = [&](const char* doing) {
    return system_error(fmt::format("cannot {} '{}'", doing, printable(place.source)), errno,
                        "it takes the changes of a temp");
  };
  // The very object that was checked, and not what stands under its name by now.
  UniqueFd directory(
      ::openat(place.object->get(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.is_open()) return failed("open");
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed("lock");
    return unsupported(fmt::format("another run has its changes in '{}'", printable(place.source)),
                       "give each run a directory of its own, or wait for the other one");
  }
  if (::mkdirat(directory.get(), kUpper, 0755) != 0 && errno != EEXIST)
    return failed("make 'upper' in");
  // Left by a run that was killed; the kernel takes no second one.
  TRY(remove_tree(directory.get(), kWork));
  if (::mkdirat(directory.get(), kWork, 0700) != 0) return failed("make 'work' in");
  return directory;
}

}  // namespace

Result<ChangePlaces> ChangePlaces::make(const Plan& plan) {
  ChangePlaces places;
  for (const ViewEntry& entry : plan.view)
    if (entry.changes) places.places_.push_back(TRY(prepare(*entry.changes)));
  return places;
}

ChangePlaces::~ChangePlaces() {
  // Nobody can be told from here. The next run removes it in any case.
  for (const UniqueFd& place : places_) (void)remove_tree(place.get(), kWork);
}

}  // namespace hermetic
