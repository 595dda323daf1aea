#include "hermetic/base/current_directory.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "hermetic/base/error.h"
#include "hermetic/base/path.h"

namespace hermetic {

Result<std::string> current_directory() {
  std::array<char, PATH_MAX> buffer;
  if (::getcwd(buffer.data(), buffer.size()) == nullptr)
    return system_error("cannot tell the current directory", errno);
  return std::string(buffer.data());
}

Result<std::string> absolute_path(const std::string& path) {
  if (path.starts_with('/')) return normal_path(path);
  return normal_path(TRY(current_directory()) + "/" + path);
}

}  // namespace hermetic
