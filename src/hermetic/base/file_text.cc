#include "hermetic/base/file_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

Result<std::string> read_whole_file(const std::string& path) {
  // Whoever wrote it may have made it to fill the memory of whoever reads it.
  constexpr std::size_t kLargest = std::size_t{256} << 20U;
  const auto failed = [&] {
    return system_error(fmt::format("cannot read '{}'", printable(path)), errno);
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return failed();
  if (!S_ISREG(status.st_mode)) return invalid(fmt::format("'{}' is not a file", printable(path)));
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t size = ::read(file.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed();
    if (size == 0) return text;
    if (text.size() > kLargest)
      return invalid(fmt::format("'{}' is too large to be read", printable(path)));
    text.append(block.data(), static_cast<std::size_t>(size));
  }
}

std::string first_line_of(const std::string& path) {
  const Result<std::string> text = read_whole_file(path);
  return text ? text->substr(0, text->find('\n')) : "";
}

Result<void> check_place_for_file(const std::string& path) {
  struct stat status = {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int os_error = 0;
  if (is_there && S_ISDIR(status.st_mode))
    os_error = EISDIR;
  else if (::access(is_there && !S_ISREG(status.st_mode) ? path.c_str() : folder.c_str(), W_OK) !=
           0)
    os_error = errno;
  if (os_error == 0) return {};
  return system_error(fmt::format("cannot write '{}'", printable(path)), os_error,
                      "nothing was run; make its directory first, or name another one");
}

Result<void> write_file_whole(const std::string& path, std::string_view text) {
  const auto failed = [&](int os_error) {
    return system_error(fmt::format("cannot write '{}'", printable(path)), os_error);
  };
  // A pipe or /dev/stdout cannot be renamed over, and nobody reads half of a pipe.
  struct stat status = {};
  const bool special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string name = special ? path : fmt::format("{}.hermetic-{}", path, ::getpid());
  const auto open_it = [&] {
    return UniqueFd(
        ::open(name.c_str(), O_WRONLY | O_CLOEXEC | (special ? 0 : O_CREAT | O_EXCL), 0644));
  };
  UniqueFd file = open_it();
  // Of another thread, or of one who had our number and was killed: in a container, all have it.
  constexpr int kMostOthers = 100;
  for (int other = 2; !file.is_open() && errno == EEXIST && other < kMostOthers; ++other) {
    name = fmt::format("{}.hermetic-{}-{}", path, ::getpid(), other);
    file = open_it();
  }
  if (!file.is_open()) return failed(errno);
  int os_error = 0;
  while (!text.empty() && os_error == 0) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) os_error = errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (os_error == 0 && !special && std::rename(name.c_str(), path.c_str()) != 0) os_error = errno;
  if (os_error == 0) return {};
  if (!special) ::unlink(name.c_str());
  return failed(os_error);
}

}  // namespace hermetic
