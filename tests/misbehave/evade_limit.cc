// evade_limit WHAT [NUMBER...]: takes more than it may where nobody looks, or makes the numbers
// wrong. Says "succeeded", "denied" with the errno, or how much it got.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "tests/misbehave/act.h"
#include "tests/misbehave/spin.h"

namespace {

using misbehave::spin;

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

// Does not end when it is asked to, and computes from then on.
int spin_when_asked_to_end(int count, double seconds) {
  sigset_t ask = {};
  ::sigaddset(&ask, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &ask, nullptr);
  int number = 0;
  ::sigwait(&ask, &number);
  for (int i = 0; i < count; ++i)
    if (::fork() == 0) {
      spin(seconds);
      ::_exit(0);
    }
  while (::wait(nullptr) > 0) {
  }
  return 0;
}

// Computes all the time, each part in a process that nobody waits for.
int spin_in_turns(int count, double seconds) {
  std::signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      spin(seconds);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  return 0;
}

// The null device takes any amount at once: the counts of what was written grow without work.
int write_to_nobody(long times) {
  constexpr std::size_t kMost = 0x7ffff000;  // of one call, write(2)
  const int null = ::open("/dev/null", O_WRONLY);
  void* block =
      ::mmap(nullptr, kMost, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (long i = 0; i < times; ++i)
    if (::write(null, block, kMost) != static_cast<ssize_t>(kMost)) return 1;
  return 0;
}

// Leaves bytes in connections to itself, which nobody reads. Prints how many megabytes it got.
int fill_sockets(std::size_t megabytes) {
  const std::vector<char> block(kMegabyte, 'x');
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* where = reinterpret_cast<sockaddr*>(&address);
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(listener, where, size) != 0 || ::listen(listener, 100) != 0 ||
      ::getsockname(listener, where, &size) != 0)
    misbehave::tell(false);
  std::size_t sent = 0;
  for (int pair = 0; pair < 200 && sent < megabytes * kMegabyte; ++pair) {
    const int sender = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(sender, where, size) != 0 || ::accept(listener, nullptr, nullptr) < 0) break;
    ::fcntl(sender, F_SETFL, O_NONBLOCK);
    for (int attempt = 0; attempt < 20; ++attempt) {
      const ssize_t taken = ::write(sender, block.data(), block.size());
      if (taken > 0)
        sent += static_cast<std::size_t>(taken);
      else
        ::usleep(500);
    }
  }
  std::printf("%zu\n", sent / kMegabyte);
  std::fflush(stdout);
  ::usleep(200'000);
  return 0;
}

// Pages of a pool that no control group counts. Without a reserve: there may be no pool.
void map_huge_pages(std::string_view by) {
  if (by == "mmap")
    misbehave::tell(::mmap(nullptr, 2 * kMegabyte, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_HUGETLB, -1,
                           0) != MAP_FAILED);
  misbehave::tell(::memfd_create("huge", MFD_HUGETLB) >= 0);
}

// What a process can do to another of the same user without tracing it: here to its first parent.
void change(pid_t process, std::string_view what) {
  const rlimit none = {0, 0};
  const sched_param lowest = {};
  constexpr int kOfProcess = 1;  // IOPRIO_WHO_PROCESS
  constexpr int kOfUser = 3;     // IOPRIO_WHO_USER
  constexpr int kIdle = 3 << 13;
  if (what == "limit") misbehave::tell(::prlimit(process, RLIMIT_NOFILE, &none, nullptr) == 0);
  if (what == "class") misbehave::tell(::sched_setscheduler(process, SCHED_IDLE, &lowest) == 0);
  if (what == "parameters") misbehave::tell(::sched_setparam(process, &lowest) == 0);
  if (what == "attributes") {
    struct {
      unsigned size = 48;
      unsigned policy = SCHED_IDLE;
      unsigned long rest[5] = {};
    } attributes;
    misbehave::tell(::syscall(SYS_sched_setattr, process, &attributes, 0) == 0);
  }
  if (what == "nice")
    misbehave::tell(::setpriority(PRIO_PROCESS, static_cast<id_t>(process), 19) == 0);
  if (what == "nice-of-user") misbehave::tell(::setpriority(PRIO_USER, ::getuid(), 19) == 0);
  if (what == "disk") misbehave::tell(::syscall(SYS_ioprio_set, kOfProcess, process, kIdle) == 0);
  if (what == "disk-of-user")
    misbehave::tell(::syscall(SYS_ioprio_set, kOfUser, ::getuid(), kIdle) == 0);
}

// Makes a control group below the one that it finds itself in.
void make_group(const std::string& name) {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    misbehave::tell(false);
  const bool unified = ::mount("none", "/dev/shm", "cgroup2", 0, nullptr) == 0 &&
                       ::mkdir(("/dev/shm/" + name).c_str(), 0755) == 0;
  // Version 1 has another tree for each controller.
  const bool separate = ::mount("none", "/dev/shm", "cgroup", 0, "memory") == 0 &&
                        ::mkdir(("/dev/shm/" + name).c_str(), 0755) == 0;
  misbehave::tell(unified || separate);
}

}  // namespace

int main(int count, char** words) {
  const auto word = [&](int place) { return std::string(place < count ? words[place] : ""); };
  const auto number = [&](int place) { return place < count ? std::atol(words[place]) : 0; };
  const std::string what = word(1);
  if (what == "spin-late")
    return spin_when_asked_to_end(static_cast<int>(number(2)),
                                  static_cast<double>(number(3)) / 1000);
  if (what == "spin-in-turns")
    return spin_in_turns(static_cast<int>(number(2)), static_cast<double>(number(3)) / 1000);
  if (what == "write-to-nobody") return write_to_nobody(number(2));
  if (what == "sockets") return fill_sockets(static_cast<std::size_t>(number(2)));
  if (what == "huge-pages") map_huge_pages(word(2));
  if (what == "change") change(static_cast<pid_t>(number(2)), word(3));
  if (what == "make-group") make_group(word(2));
  misbehave::usage("evade_limit WHAT [NUMBER...]");
}
