#include "hermetic/places/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "hermetic/base/entries.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/own_folders.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// Nothing if another process has removed it meanwhile, or is about to.
Result<std::optional<PrivateFolder>> try_to_make(int base, const std::string& path,
                                                 std::string_view kind, const FillFolder& fill) {
  const std::string random = TRY(temporary_name());
  const std::string name = fmt::format("{}{}{}", private_folder_prefix(), kind,
                                       std::string_view(random).substr(kOwnNames.size()));
  if (::mkdirat(base, name.c_str(), 0700) != 0)
    return system_error(fmt::format("cannot make a directory in '{}'", printable(path)), errno);
  PrivateFolder folder{.path = join(path, name), .descriptor = {}};
  Result<UniqueFd> opened = open_directory(base, name);
  if (!opened) {
    ::unlinkat(base, name.c_str(), AT_REMOVEDIR);
    if (opened.error().os_error == ENOENT) return std::optional<PrivateFolder>();
    return std::move(opened).error();
  }
  folder.descriptor = std::move(*opened);
  struct stat status = {};
  if (::fstat(folder.descriptor.get(), &status) != 0) {
    const int os_error = errno;
    ::unlinkat(base, name.c_str(), AT_REMOVEDIR);
    return system_error(fmt::format("cannot look at '{}'", printable(folder.path)), os_error);
  }
  // In a directory that others can write to, they can put another in its place.
  if (status.st_uid != ::geteuid() || (status.st_mode & 0077) != 0)
    return system_error(fmt::format("cannot keep a directory in '{}'", printable(path)), ESTALE,
                        "another user has exchanged it");
  // Another process has it only to remove it, or to look whether it is in use. A file system
  // without locks lets nobody remove it either.
  if (::flock(folder.descriptor.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::unlinkat(base, name.c_str(), AT_REMOVEDIR);
    return std::optional<PrivateFolder>();
  }
  Result<void> filled = fill(folder);
  if (filled) return std::optional<PrivateFolder>(std::move(folder));
  (void)remove_tree(base, name);
  if (filled.error().os_error == ENOENT) return std::optional<PrivateFolder>();
  return std::move(filled).error();
}

}  // namespace

std::string private_folder_prefix() { return fmt::format("{}{}-", kOwnNames, ::geteuid()); }

Result<PrivateFolder> make_private_folder(const std::string& base, const FillFolder& fill) {
  const UniqueFd directory(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open())
    return system_error(fmt::format("cannot make a directory in '{}'", printable(base)), errno);
  return make_private_folder(directory.get(), base, "", fill);
}

Result<PrivateFolder> make_private_folder(int base, const std::string& path, std::string_view kind,
                                          const FillFolder& fill) {
  constexpr int kAttempts = 100;  // more often than this is not bad luck
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::optional<PrivateFolder> folder = TRY(try_to_make(base, path, kind, fill));
    if (folder) return std::move(*folder);
  }
  return system_error(fmt::format("cannot keep a directory in '{}'", printable(path)), EWOULDBLOCK,
                      "something removes it at once");
}

bool lock_abandoned(int folder) {
  if (::flock(folder, LOCK_EX | LOCK_NB) != 0) return false;
  struct stat status = {};
  return ::fstat(folder, &status) == 0 && status.st_nlink > 0;
}

std::vector<std::string> remove_abandoned_folders(int base, const std::string& path,
                                                  std::string_view kind) {
  std::vector<std::string> removed;
  const Result<UniqueFd> directory = open_directory(base, ".");
  if (!directory) return removed;
  const Result<std::vector<std::string>> names = names_in(directory->get());
  if (!names) return removed;
  const std::string prefix = private_folder_prefix() + std::string(kind);
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    const Result<UniqueFd> folder = open_directory(directory->get(), name);
    struct stat status = {};
    if (!folder || ::fstat(folder->get(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    if (!lock_abandoned(folder->get())) continue;
    if (remove_tree(directory->get(), name)) removed.push_back(join(path, name));
  }
  return removed;
}

}  // namespace hermetic
