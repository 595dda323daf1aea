#include "hermetic/backends/linux/socket_object.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "hermetic/base/path.h"

namespace hermetic::linux_backend {
namespace {

std::string link_text(const std::string& link) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  return size <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

// As the process would, below its root and nowhere else. It passes no link of /proc: those would be
// ours.
UniqueFd open_in_root(int root, const std::string& path) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

constexpr std::string_view kProcess = "/proc/";

// "/proc/self/fd/3/name" as a path that passes no such link: programs shorten long names so.
std::string without_magic(pid_t process, const std::string& path) {
  std::string_view rest = path;
  std::string folder = fmt::format("/proc/{}", process);
  if (rest.starts_with("/dev/fd/")) {
    folder += "/fd/";
    rest.remove_prefix(std::strlen("/dev/fd/"));
  } else {
    const std::size_t name = kProcess.size();
    const std::size_t end = rest.find('/', name);
    if (!rest.starts_with(kProcess) || end == std::string_view::npos) return path;
    const std::string_view whose = rest.substr(name, end - name);
    if (whose != "self" && whose != "thread-self") return path;
    rest.remove_prefix(end + 1);
    folder += '/';
    if (rest.starts_with("fd/")) {
      folder += "fd/";
      rest.remove_prefix(3);
    } else if (!rest.starts_with("cwd") && !rest.starts_with("root")) {
      return path;
    }
  }
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string target = link_text(folder + std::string(rest.substr(0, end)));
  if (!target.starts_with('/')) return path;
  return target + std::string(rest.substr(end));
}

SocketObject open_as(pid_t process, const std::string& path) {
  SocketObject found;
  const UniqueFd root(
      ::open(fmt::format("/proc/{}/root", process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string whole = path;
  if (!path.starts_with('/')) {
    const std::string directory = link_text(fmt::format("/proc/{}/cwd", process));
    whole = directory.starts_with('/') ? directory + "/" + path : "";
  }
  if (!root.is_open() || whole.empty()) {
    found.error = EACCES;
    return found;
  }
  found.object = open_in_root(root.get(), without_magic(process, whole));
  if (!found.object.is_open()) {
    found.error = errno;
    return found;
  }
  // Its mount is none of ours, so that this is its path in the sandbox.
  found.path = link_text(fmt::format("/proc/self/fd/{}", found.object.get()));
  return found;
}

}  // namespace

bool SocketObject::is_socket() const {
  struct stat status = {};
  return object.is_open() && ::fstat(object.get(), &status) == 0 && S_ISSOCK(status.st_mode);
}

std::uint64_t SocketObject::device() const {
  struct stat status = {};
  return object.is_open() && ::fstat(object.get(), &status) == 0 ? status.st_dev : 0;
}

// A socket of datagrams is connected without the other side's hearing of it, and told that the
// other is of another type only if there is one.
bool SocketObject::is_served() const {
  const UniqueFd trial(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = fmt::format("/proc/self/fd/{}", object.get());
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  return !trial.is_open() ||
         ::connect(trial.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != ECONNREFUSED;
}

SocketObject find_socket(pid_t process, const std::string& path) { return open_as(process, path); }

SocketObject find_place_of_socket(pid_t process, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  SocketObject found =
      open_as(process, slash == std::string::npos ? "." : path.substr(0, slash + 1));
  if (!found.path.empty()) found.path = join(found.path, name);
  return found;
}

}  // namespace hermetic::linux_backend
