#include "hermetic/backends/linux/stream_kind.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic::linux_backend {
namespace {

using StreamSort = StreamKind::Kind;

// What looks like a regular file there is a process, a namespace or memory that cannot be read.
constexpr std::array<std::uint64_t, 5> kNotOfFiles = {
    0x50494446 /* pidfs */, 0x6e736673 /* nsfs */, 0x5345434d /* secretmem */,
    0x09041934 /* anon_inode */, 0x444d4142 /* dma-buf */};

std::uint64_t file_system_of(int descriptor) {
  struct statfs status = {};
  return ::fstatfs(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.f_type) : 0;
}

const char* device_named(const struct stat& status) {
  constexpr std::array<std::pair<unsigned, const char*>, 5> kDevices = {{{3, "/dev/null"},
                                                                         {5, "/dev/zero"},
                                                                         {7, "/dev/full"},
                                                                         {8, "/dev/random"},
                                                                         {9, "/dev/urandom"}}};
  if (major(status.st_rdev) != 1) return nullptr;
  for (const auto& [number, path] : kDevices)
    if (minor(status.st_rdev) == number) return path;
  return nullptr;
}

// "" if bytes can be relayed.
std::string why_no_socket(int descriptor) {
  int type = 0;
  int listens = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
    return "a socket that is no stream";
  size = sizeof listens;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0)
    return "a socket that listens";
  return "";
}

struct Found {
  StreamSort kind = StreamSort::Nothing;
  std::string refused;  // what it is
};

Found kind_of_character_device(int descriptor, const struct stat& status, StreamKind& stream) {
  stream.device = device_named(status);
  if (stream.device != nullptr) return {StreamSort::Device, ""};
  unsigned number = 0;
  if (::isatty(descriptor) == 1) {
    if (::ioctl(descriptor, TIOCGPTN, &number) == 0)
      return {StreamSort::Nothing, "the controlling side of a pseudo-terminal"};
    // /dev/tty and the terminal that it stands for are the same.
    stream.object =
        ::ioctl(descriptor, TIOCGDEV, &number) == 0 ? number : std::uint64_t{status.st_rdev};
    return {StreamSort::Terminal, ""};
  }
  if (errno == EIO) return {StreamSort::Nothing, ""};  // hung up
  return {StreamSort::Nothing, "a device"};
}

std::string name_of_object(int descriptor) {
  std::array<char, 256> target = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size > 0 ? "'" + printable({target.data(), static_cast<std::size_t>(size)}) + "'"
                  : "neither a file nor a pipe";
}

Found kind_of_object(int descriptor, const struct stat& status, StreamKind& stream) {
  switch (status.st_mode & S_IFMT) {
    case S_IFIFO: return {StreamSort::Bytes, ""};
    case S_IFREG: {
      const std::uint64_t system = file_system_of(descriptor);
      if (std::find(kNotOfFiles.begin(), kNotOfFiles.end(), system) != kNotOfFiles.end())
        return {StreamSort::Nothing, name_of_object(descriptor)};
      return {StreamSort::Bytes, ""};
    }
    case S_IFSOCK: {
      std::string refused = why_no_socket(descriptor);
      return {StreamSort::Bytes, std::move(refused)};
    }
    case S_IFCHR: return kind_of_character_device(descriptor, status, stream);
    case S_IFBLK: return {StreamSort::Nothing, "a block device"};
    case S_IFDIR: return {StreamSort::Nothing, "a directory"};
    default: return {StreamSort::Nothing, name_of_object(descriptor)};
  }
}

bool is_same_object(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<StreamKind> stream_kind(int descriptor, const char* name) {
  StreamKind stream;
  const int flags = descriptor < 0 ? -1 : ::fcntl(descriptor, F_GETFL);
  struct stat status = {};
  if (flags < 0 || ::fstat(descriptor, &status) != 0) {
    stream.readable = stream.writable = true;
    return stream;
  }
  stream.readable = (flags & O_ACCMODE) != O_WRONLY;
  stream.writable = (flags & O_ACCMODE) != O_RDONLY;
  Found found = kind_of_object(descriptor, status, stream);
  if (found.refused.empty() && (flags & O_PATH) != 0) found.refused = "a place that is not open";
  if (!found.refused.empty())
    return unsupported(std::string("standard ") + name + " is " + found.refused + " of the host",
                       "give the command a file, a pipe, a terminal or /dev/null");
  stream.kind = found.kind;
  return stream;
}

bool is_same_open_file(int a, int b) {
  const long order = ::syscall(SYS_kcmp, ::getpid(), ::getpid(), KCMP_FILE, a, b);
  if (order >= 0) return order == 0;
  // A kernel, or a sandbox around us, that has no such call.
  struct stat one = {};
  struct stat other = {};
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && is_same_object(one, other) &&
         ::fcntl(a, F_GETFL) == ::fcntl(b, F_GETFL) &&
         ::lseek(a, 0, SEEK_CUR) == ::lseek(b, 0, SEEK_CUR);
}

bool is_same_stream(int a, int b) {
  struct stat one = {};
  struct stat other = {};
  if (::fstat(a, &one) != 0 || ::fstat(b, &other) != 0 || !is_same_object(one, other)) return false;
  if (!S_ISREG(one.st_mode)) return true;
  const bool append = (::fcntl(a, F_GETFL) & ::fcntl(b, F_GETFL) & O_APPEND) != 0;
  return append || is_same_open_file(a, b);
}

}  // namespace hermetic::linux_backend
