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

constexpr const char* kDefaultList = "system.posix_acl_default";

std::string path_of(int directory, const std::string& name) {
  return directory == AT_FDCWD ? name : fmt::format("/proc/self/fd/{}/{}", directory, name);
}

// "" if there is none.
std::string default_list(const std::string& path) {
  const ssize_t size = ::lgetxattr(path.c_str(), kDefaultList, nullptr, 0);
  if (size <= 0) return "";
  std::string list(static_cast<std::size_t>(size), '\0');
  const ssize_t read = ::lgetxattr(path.c_str(), kDefaultList, list.data(), list.size());
  return read == size ? list : "?";  // it is not to be taken for none
}

Error cannot_clear(std::string_view doing, const std::string& name) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(name)), errno);
}

Result<void> clear(int directory, const std::string& name, const struct stat& status) {
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 &&
      ::fchmodat(directory, name.c_str(), status.st_mode & 01777U, 0) != 0)
    return cannot_clear("set the mode of", name);
  if (S_ISDIR(status.st_mode) && has_own_default_list(directory, name) &&
      ::lremovexattr(path_of(directory, name).c_str(), kDefaultList) != 0)
    return cannot_clear("take the default access control list from", name);
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
  return ::lgetxattr(path_of(directory, name).c_str(), "security.capability", nullptr, 0) > 0;
}

bool has_own_default_list(int parent, const std::string& name) {
  const std::string list = default_list(path_of(parent, name));
  return !list.empty() && list != default_list(path_of(parent, "."));
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
  const std::string list = default_list(path_of(directory, "."));
  if (!list.empty() && list != default_list(path_of(directory, "..")) &&
      ::lremovexattr(path_of(directory, ".").c_str(), kDefaultList) != 0)
    return cannot_clear("take the default access control list from", ".");
  return clear_below(directory, 0);
}

}  // namespace hermetic
