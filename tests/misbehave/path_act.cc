// Does one thing with a path.
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

bool bind_socket(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool act(std::string_view verb, const char* path, const char* other) {
  struct stat status = {};
  char text[PATH_MAX];
  if (verb == "look") return ::lstat(path, &status) == 0;
  if (verb == "read") {
    const int fd = ::open(path, O_RDONLY);
    return fd >= 0 && ::read(fd, text, 1) >= 0;
  }
  if (verb == "open_to_read") return ::open(path, O_RDONLY) >= 0;
  if (verb == "open_to_write") return ::open(path, O_WRONLY | O_NONBLOCK) >= 0;
  if (verb == "create") return ::open(path, O_WRONLY | O_CREAT, 0644) >= 0;
  if (verb == "truncate") return ::truncate(path, 0) == 0;
  if (verb == "list") return ::opendir(path) != nullptr;
  if (verb == "read_link") return ::readlink(path, text, sizeof text) >= 0;
  if (verb == "make_directory") return ::mkdir(path, 0755) == 0;
  if (verb == "remove") return ::unlink(path) == 0 || ::rmdir(path) == 0;
  if (verb == "change_mode") return ::chmod(path, 0600) == 0;
  if (verb == "touch") return ::utimensat(AT_FDCWD, path, nullptr, 0) == 0;
  if (verb == "set_attribute") return ::setxattr(path, "user.canary", "1", 1, 0) == 0;
  if (verb == "link") return ::link(path, other) == 0;
  if (verb == "rename") return ::rename(path, other) == 0;
  if (verb == "make_fifo") return ::mkfifo(path, 0644) == 0;
  if (verb == "make_socket") return bind_socket(path);
  if (verb == "make_device") return ::mknod(path, S_IFCHR | 0600, 0x103) == 0;  // as /dev/null
  misbehave::usage("path_act VERB PATH [OTHER]");
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) misbehave::usage("path_act VERB PATH [OTHER]");
  errno = 0;
  misbehave::tell(act(words[1], words[2], count > 3 ? words[3] : ""));
}
