#include "hermetic/base/unlocked.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace hermetic {

Unlocked::Unlocked(int parent, std::string name) : parent_(parent), name_(std::move(name)) {
  struct stat status = {};
  if (::fstatat(parent_, name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (status.st_uid != ::geteuid()) return;
  const mode_t needed = S_ISDIR(status.st_mode) ? S_IRWXU : S_IRUSR;
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return;
  if ((status.st_mode & needed) == needed) return;
  mode_ = status.st_mode & 07777U;
  changed_ = ::fchmodat(parent_, name_.c_str(), mode_ | needed, 0) == 0;
}

Unlocked::~Unlocked() {
  if (changed_) (void)::fchmodat(parent_, name_.c_str(), mode_, 0);
}

}  // namespace hermetic
