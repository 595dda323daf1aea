#include "hermetic/places/planted.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

bool is_of_another(const struct stat& status) {
  return status.st_uid != ::geteuid() && status.st_uid != 0;
}

// Everybody may make files there, or a group, each its own.
bool is_shared(const struct stat& directory) {
  const bool by_group = (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWGRP) != 0;
  return by_group || (directory.st_mode & S_IWOTH) != 0;
}

bool is_planted(const struct stat& status, const struct stat& directory) {
  return is_of_another(status) && is_shared(directory) && status.st_uid != directory.st_uid;
}

Error cannot_look(const std::string& path, int os_error) {
  return system_error(fmt::format("cannot write '{}'", printable(path)), os_error);
}

Error refused(const std::string& path, std::string_view why) {
  return invalid(fmt::format("cannot write '{}': another user has made {}", printable(path), why),
                 "name another file, or a place in a directory of your own");
}

}  // namespace

Result<void> check_not_planted(const Link& link, const std::string& path) {
  struct stat status = {};
  struct stat directory = {};
  if (::lstat(link.path.c_str(), &status) != 0 ||
      ::stat(std::string(parent_of(link.path)).c_str(), &directory) != 0)
    return cannot_look(path, errno);
  if (!is_planted(status, directory)) return {};
  return refused(path, fmt::format("the link '{}'", printable(link.path)));
}

Result<void> check_not_planted(const Found& place, int directory, const std::string& path) {
  struct stat around = {};
  if (::fstat(directory, &around) != 0) return cannot_look(path, errno);
  for (const Link& link : place.links) {
    struct stat status = {};
    if (::lstat(link.path.c_str(), &status) != 0) return cannot_look(path, errno);
    if (is_of_another(status) && status.st_uid != around.st_uid)
      return refused(path, fmt::format("the link '{}', which leads to what is not that user's",
                                       printable(link.path)));
  }
  if (!place.exists()) return {};
  struct stat status = {};
  if (::fstatat(place.descriptor->get(), "", &status, AT_EMPTY_PATH) != 0)
    return cannot_look(path, errno);
  return is_planted(status, around) ? Result<void>(refused(path, "it")) : Result<void>();
}

}  // namespace hermetic
