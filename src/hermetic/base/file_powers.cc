#include "hermetic/base/file_powers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"

namespace hermetic {
namespace {

Error cannot_clear(std::string_view doing, const std::string& name) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(name)), errno);
}

Result<void> clear(int directory, const std::string& name, const struct stat& status) {
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 &&
      ::fchmodat(directory, name.c_str(), status.st_mode & 01777U, 0) != 0)
    return cannot_clear("set the mode of", name);
  if (!S_ISREG(status.st_mode) || !has_capabilities(directory, name)) return {};
  // To remove the attribute itself takes a capability. That a file got an owner, be it the same,
  // takes them away for its owner, too: chown(2).
  constexpr auto kSame = static_cast<unsigned>(-1);
  if (::fchownat(directory, name.c_str(), kSame, kSame, AT_SYMLINK_NOFOLLOW) != 0 ||
      has_capabilities(directory, name))
    return cannot_clear("take the capabilities from", name);
  return {};
}

// The first failure; the rest is done.
Result<void> clear_below(int directory, int depth) {
  if (depth > kDeepestTree)
    return unsupported(
        fmt::format("what was changed lies more than {} directories deep", kDeepestTree),
        "nothing of it is kept");
  Result<void> result;
  const auto note = [&](Result<void> done) {
    if (!done && result) result = std::move(done);
  };
  for (const std::string& name : TRY(names_in(directory))) {
    struct stat status = {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      note(cannot_clear("look at", name));
      continue;
    }
    if (S_ISLNK(status.st_mode)) continue;
    const bool is_device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
    if (is_device && !is_whiteout(status.st_mode, status.st_rdev)) {
      if (::unlinkat(directory, name.c_str(), 0) != 0) note(cannot_clear("remove", name));
      continue;
    }
    note(clear(directory, name, status));
    if (!S_ISDIR(status.st_mode)) continue;
    const Unlocked unlocked(directory, name);
    const Result<UniqueFd> child = open_directory(directory, name);
    note(child ? clear_below(child->get(), depth + 1) : Result<void>(child.error()));
  }
  return result;
}

}  // namespace

bool has_capabilities(int directory, const std::string& name) {
  const std::string path =
      directory == AT_FDCWD ? name : fmt::format("/proc/self/fd/{}/{}", directory, name);
  return ::lgetxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

Result<void> clear_powers(int directory, const std::string& name) {
  struct stat status = {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return cannot_clear("look at", name);
  return S_ISLNK(status.st_mode) ? Result<void>() : clear(directory, name, status);
}

Result<void> clear_powers_in(int directory) {
  struct stat status = {};
  if (::fstat(directory, &status) != 0) return cannot_clear("look at", ".");
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 &&
      ::fchmod(directory, status.st_mode & 01777U) != 0)
    return cannot_clear("set the mode of", ".");
  return clear_below(directory, 0);
}

}  // namespace hermetic
