#include "hermetic/task/host_program.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"

namespace hermetic::task {

Result<std::string> real_path_of(const std::string& path) {
  std::array<char, PATH_MAX> resolved = {};
  if (::realpath(path.c_str(), resolved.data()) == nullptr)
    return system_error(fmt::format("cannot find '{}'", printable(path)), errno);
  return std::string(resolved.data());
}

Result<std::string> identity_of_program(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
    return system_error(fmt::format("cannot look at '{}'", printable(path)), errno);
  // The time at which an inode was changed is the kernel's to set.
  return sha256(fmt::format("{} {} {} {} {}", path, status.st_size, status.st_ino,
                            status.st_ctim.tv_sec, status.st_ctim.tv_nsec));
}

}  // namespace hermetic::task
