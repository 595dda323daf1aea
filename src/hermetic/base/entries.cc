#include "hermetic/base/entries.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <climits>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

ObjectIdentity identity_in(const struct statx& status) {
  ObjectIdentity identity{.device = ::makedev(status.stx_dev_major, status.stx_dev_minor),
                          .inode = status.stx_ino};
  constexpr std::uint64_t kNanoseconds = 1'000'000'000;
  if ((status.stx_mask & STATX_BTIME) != 0)
    identity.birth_nanoseconds =
        static_cast<std::uint64_t>(status.stx_btime.tv_sec) * kNanoseconds +
        status.stx_btime.tv_nsec;
  return identity;
}

Error cannot_look_at(const std::string& name) {
  return system_error(fmt::format("cannot look at '{}'", printable(name)), errno);
}

Result<std::optional<mode_t>> mode_at(int directory, const std::string& name) {
  struct stat status = {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
    return std::optional(status.st_mode);
  if (errno == ENOENT) return std::optional<mode_t>();
  return cannot_look_at(name);
}

}  // namespace

Result<std::optional<ObjectIdentity>> identity_at(int directory, const std::string& name) {
  struct statx status = {};
  if (::statx(directory, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &status) == 0)
    return std::optional(identity_in(status));
  if (errno == ENOENT) return std::optional<ObjectIdentity>();
  return cannot_look_at(name);
}

Result<ObjectIdentity> identity_of_directory(int descriptor) {
  struct statx status = {};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_INO, &status) != 0)
    return system_error("cannot look at a directory", errno);
  ObjectIdentity identity = identity_in(status);
  identity.birth_nanoseconds = 0;
  return identity;
}

Result<bool> exists_at(int directory, const std::string& name) {
  const std::optional<mode_t> mode = TRY(mode_at(directory, name));
  return mode.has_value();
}

Result<bool> is_directory_at(int directory, const std::string& name) {
  const std::optional<mode_t> mode = TRY(mode_at(directory, name));
  return mode && S_ISDIR(*mode);
}

int rename_at(int from, const std::string& name, int to, const std::string& new_name,
              Renaming renaming) {
  const long result = ::syscall(SYS_renameat2, from, name.c_str(), to, new_name.c_str(),
                                static_cast<unsigned>(renaming));
  return result == 0 ? 0 : errno;
}

Result<UniqueFd> open_without_links(int parent, const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, parent, path.c_str(), &how, sizeof how)));
  if (!fd.is_open()) return system_error(fmt::format("cannot open '{}'", printable(path)), errno);
  return fd;
}

Result<std::string> real_path_of(int descriptor) {
  std::array<char, PATH_MAX> text;
  const std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  if (size < 0) return system_error(fmt::format("cannot read '{}'", link), errno);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

Result<std::string> temporary_name() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random)
    return system_error("cannot get random bytes", errno);
  return fmt::format(".hermetic-{:016x}", random);
}

}  // namespace hermetic
