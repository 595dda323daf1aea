#include "hermetic/task/host_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/presets.h"

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

std::vector<std::string> files_of_interpreter(const std::string& path) {
  for (const std::string& directory : toolchain_directories())
    if (is_within(path, directory)) return {};
  std::vector<std::string> files = {path};
  const std::string library = std::string(parent_of(parent_of(path))) + "/lib";
  const Result<UniqueFd> directory = open_directory(AT_FDCWD, library + "/.");
  const Result<std::vector<std::string>> names =
      directory ? names_in(directory->get()) : std::vector<std::string>();
  if (!names) return files;
  for (const std::string& name : *names) {
    if (!name.starts_with("python3.") && !name.starts_with("libpython3")) continue;
    std::string file = fmt::format("{}/{}", library, name);
    struct stat status = {};  // a link may lead nowhere
    if (::stat(file.c_str(), &status) == 0) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace hermetic::task
