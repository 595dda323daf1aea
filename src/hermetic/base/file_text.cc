#include "hermetic/base/file_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "hermetic/base/entries.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

Error cannot_write(const std::string& path, int os_error) {
  return system_error(fmt::format("cannot write '{}'", printable(path)), os_error);
}

// A new file that has no name yet, so that nothing of it is left if hermetic is killed; where the
// file system has no such files, one that has a name that is taken by nothing else.
class FreshFile {
 public:
  static Result<FreshFile> make(int directory, mode_t mode, const std::string& path) {
    FreshFile file(directory, path);
    file.file_ = UniqueFd(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    if (file.file_.is_open()) return file;
    file.temporary_ = TRY(temporary_name());
    file.file_ = UniqueFd(::openat(directory, file.temporary_.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file.file_.is_open()) return file;
    const int os_error = errno;
    file.temporary_.clear();
    return cannot_write(path, os_error);
  }

  FreshFile(const FreshFile&) = delete;
  FreshFile& operator=(const FreshFile&) = delete;
  FreshFile(FreshFile&& other) noexcept
      : directory_(other.directory_),
        path_(other.path_),
        file_(std::move(other.file_)),
        temporary_(std::exchange(other.temporary_, {})) {}
  FreshFile& operator=(FreshFile&&) = delete;
  ~FreshFile() {
    if (!temporary_.empty()) ::unlinkat(directory_, temporary_.c_str(), 0);
  }

  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] UniqueFd take() && { return std::move(file_); }

  Result<void> put_at(const std::string& name) {
    struct stat old = {};
    const bool replaces =
        ::fstatat(directory_, name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode);
    // What another user lets others do with a file is not said of ours.
    if (replaces && old.st_uid == ::geteuid() && ::fchmod(file_.get(), old.st_mode & 0777U) != 0)
      return cannot_write(path_, errno);
    if (temporary_.empty()) {
      if (!replaces && name_it(name)) return {};
      const std::string temporary = TRY(temporary_name());
      if (!name_it(temporary)) return cannot_write(path_, errno);
      temporary_ = temporary;
    }
    if (::renameat(directory_, temporary_.c_str(), directory_, name.c_str()) != 0)
      return cannot_write(path_, errno);
    temporary_.clear();
    return {};
  }

 private:
  FreshFile(int directory, const std::string& path) : directory_(directory), path_(path) {}

  [[nodiscard]] bool name_it(const std::string& name) const {
    const std::string own = fmt::format("/proc/self/fd/{}", file_.get());
    return ::linkat(AT_FDCWD, own.c_str(), directory_, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }

  int directory_;
  const std::string& path_;
  UniqueFd file_;
  std::string temporary_;  // "" while the file has no name
};

}  // namespace

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

ssize_t write_without_signal(int descriptor, std::string_view text) {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int os_error = errno;
  const timespec at_once = {};
  if (written < 0 && os_error == EPIPE && !was_pending)
    ::sigtimedwait(&pipe_signal, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = os_error;
  return written;
}

Result<void> write_file_in(int directory, const std::string& name, std::string_view text,
                           const std::string& path) {
  FreshFile file = TRY(FreshFile::make(directory, 0644, path));
  while (!text.empty()) {
    const ssize_t written = write_without_signal(file.descriptor(), text);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(path, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return file.put_at(name);
}

Result<UniqueFd> make_file_in(int directory, const std::string& name, mode_t mode,
                              const std::string& path) {
  FreshFile file = TRY(FreshFile::make(directory, mode, path));
  TRY(file.put_at(name));
  return std::move(file).take();
}

Result<void> write_file_whole(const std::string& path, std::string_view text) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) return cannot_write(path, errno);
  return write_file_in(directory.get(), path.substr(slash + 1), text, path);
}

}  // namespace hermetic
