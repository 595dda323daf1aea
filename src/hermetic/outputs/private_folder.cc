#include "hermetic/outputs/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// Nothing if somebody else has removed it meanwhile, or is about to.
Result<std::optional<PrivateFolder>> try_to_make(const std::string& base, const FillFolder& fill) {
  PrivateFolder folder{
      .path = fmt::format("{}/{}XXXXXX", base == "/" ? "" : base, private_folder_prefix())};
  if (::mkdtemp(folder.path.data()) == nullptr)
    return system_error(fmt::format("cannot make a directory in '{}'", printable(base)), errno);
  Result<UniqueFd> opened = open_directory(AT_FDCWD, folder.path);
  if (!opened) {
    ::rmdir(folder.path.c_str());
    if (opened.error().os_error == ENOENT) return std::optional<PrivateFolder>();
    return std::move(opened).error();
  }
  folder.descriptor = std::move(*opened);
  // Somebody else has it only to remove it, or to look whether it is in use. A file system without
  // locks lets nobody remove it either.
  if (::flock(folder.descriptor.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::rmdir(folder.path.c_str());
    return std::optional<PrivateFolder>();
  }
  Result<void> filled = fill(folder);
  if (filled) return std::optional<PrivateFolder>(std::move(folder));
  (void)remove_tree(AT_FDCWD, folder.path);
  if (filled.error().os_error == ENOENT) return std::optional<PrivateFolder>();
  return std::move(filled).error();
}

}  // namespace

std::string private_folder_prefix() { return fmt::format(".hermetic-{}-", ::geteuid()); }

Result<PrivateFolder> make_private_folder(const std::string& base, const FillFolder& fill) {
  constexpr int kAttempts = 100;  // more often than this nobody is just unlucky
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::optional<PrivateFolder> folder = TRY(try_to_make(base, fill));
    if (folder) return std::move(*folder);
  }
  return system_error(fmt::format("cannot keep a directory in '{}'", printable(base)), EWOULDBLOCK,
                      "something removes it at once");
}

bool lock_abandoned(int folder) {
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0) return false;
  struct stat status = {};
  return ::fstat(folder, &status) == 0 && status.st_nlink > 0;
}

}  // namespace hermetic
