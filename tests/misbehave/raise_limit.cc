// raise_limit: mounts the control groups that it can see, and gives itself more memory. Says what
// was possible: "denied ERRNO", or the limit that it has then.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

int denied() {
  std::printf("denied %s\n", ::strerrorname_np(errno));
  return 1;
}

bool write_file(const char* path) {
  const int file = ::open(path, O_WRONLY);
  if (file < 0) return false;
  const bool written = ::write(file, "900000000", 9) == 9;
  ::close(file);
  return written;
}

}  // namespace

int main() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) != 0) return denied();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return denied();
  const bool unified = ::mount("none", "/dev/shm", "cgroup2", 0, nullptr) == 0 &&
                       ::access("/dev/shm/memory.max", F_OK) == 0;
  if (!unified && ::mount("none", "/dev/shm", "cgroup", 0, "memory") != 0) return denied();
  // With swap first: it is never below the other.
  (void)write_file("/dev/shm/memory.memsw.limit_in_bytes");
  if (!write_file(unified ? "/dev/shm/memory.max" : "/dev/shm/memory.limit_in_bytes"))
    return denied();
  std::printf("raised\n");
  std::fflush(stdout);
  // And now for the use of it.
  static char block[120 << 20];
  for (std::size_t i = 0; i < sizeof block; i += 4096) static_cast<volatile char*>(block)[i] = 1;
  std::printf("used\n");
  return 0;
}
