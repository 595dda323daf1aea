// use_up WHAT [NUMBER...]: takes more of the machine than it should.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/misbehave/spin.h"

namespace {

using misbehave::spin;

void touch(std::size_t megabytes) {
  for (std::size_t i = 0; i < megabytes; ++i) {
    auto* block = static_cast<volatile char*>(std::malloc(std::size_t{1} << 20U));
    if (block == nullptr) std::exit(3);
    for (std::size_t byte = 0; byte < std::size_t{1} << 20U; byte += 4096) block[byte] = 1;
  }
}

// Each allocates its part, starts the next and waits for it.
int leak(std::size_t megabytes, int depth) {
  touch(megabytes);
  if (depth == 0) {
    ::sleep(1);
    return 0;
  }
  const pid_t child = ::fork();
  if (child < 0) return 3;
  if (child == 0) std::exit(leak(megabytes, depth - 1));
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? 0 : 4;
}

int processes(int count) {
  std::vector<pid_t> children;
  int denied = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      std::exit(0);
    }
    if (child > 0)
      children.push_back(child);
    else
      denied = errno;
  }
  std::printf("%zu %s\n", children.size(), denied == 0 ? "all" : ::strerrorname_np(denied));
  std::fflush(stdout);
  ::usleep(300'000);
  for (const pid_t child : children) ::kill(child, SIGKILL);
  return 0;
}

int threads(int count) {
  std::vector<std::thread> started;
  int made = 0;
  try {
    for (; made < count; ++made) started.emplace_back([] { ::usleep(300'000); });
  } catch (const std::exception&) {
    std::printf("%d denied\n", made);
    std::fflush(stdout);
  }
  for (std::thread& thread : started) thread.join();
  std::printf("%d\n", made);
  return 0;
}

int spin_in(int count, double seconds) {
  for (int i = 0; i < count; ++i)
    if (::fork() == 0) {
      spin(seconds);
      std::exit(0);
    }
  while (::wait(nullptr) > 0) {
  }
  return 0;
}

// One after the other, and none is waited for: the kernel forgets what they have used.
int spin_unwaited(int count) {
  std::signal(SIGCHLD, SIG_IGN);
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      spin(0.01);
      std::exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
  return 0;
}

int write_file(const char* path, int megabytes) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return 3;
  const std::vector<char> block(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < megabytes; ++i) {
    const ssize_t written = ::write(file, block.data(), block.size());
    if (written < 0) {
      std::printf("%d %s\n", i, ::strerrorname_np(errno));
      return 1;
    }
    ::usleep(1000);
  }
  std::printf("%d all\n", megabytes);
  return 0;
}

// A line for each megabyte. What is written goes to the disk at once, or, "later", when all is
// there.
int move_blocks(const char* path, int megabytes, std::string_view how) {
  const bool reads = how == "read-past-cache";
  const int past_cache = how == "write-later" ? 0 : O_DIRECT;
  const int file = ::open(path, (reads ? O_RDONLY : O_RDWR | O_CREAT | O_TRUNC) | past_cache, 0644);
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  void* const block = std::aligned_alloc(4096, kBlock);
  if (file < 0 || block == nullptr) return 3;
  std::memset(block, 'x', kBlock);
  for (int i = 0; i < megabytes; ++i) {
    const ssize_t count = reads ? ::read(file, block, kBlock) : ::write(file, block, kBlock);
    if (count != static_cast<ssize_t>(kBlock)) return 3;
    if (past_cache != 0) std::puts("moved");
    std::fflush(stdout);
  }
  if (!reads && ::fsync(file) != 0) return 3;
  std::puts("all");
  return 0;
}

int open_files(int count) {
  int opened = 0;
  while (opened < count && ::open("/dev/null", O_RDONLY) >= 0) ++opened;
  std::printf("%d %s\n", opened, opened == count ? "all" : ::strerrorname_np(errno));
  return 0;
}

// Over the loopback, from one process to another.
int talk(int megabytes) {
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* address = reinterpret_cast<sockaddr*>(&place);
  socklen_t size = sizeof place;
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(listener, address, size) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, address, &size) != 0)
    return 3;
  std::vector<char> block(std::size_t{1} << 20U, 'x');
  if (::fork() == 0) {
    const int out = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(out, address, size) != 0) std::exit(3);
    for (int i = 0; i < megabytes; ++i) {
      if (::write(out, block.data(), block.size()) < 0) std::exit(3);
      ::usleep(1000);
    }
    std::exit(0);
  }
  const int in = ::accept(listener, nullptr, nullptr);
  std::size_t taken = 0;
  for (ssize_t count = 0; (count = ::read(in, block.data(), block.size())) > 0;)
    taken += static_cast<std::size_t>(count);
  std::printf("%zu\n", taken >> 20U);
  return 0;
}

int leave_group() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() == 0) ::sleep(600);
    std::exit(0);
  }
  ::sleep(600);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const auto number = [&](int place) { return place < count ? std::atoi(words[place]) : 0; };
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "memory") {
    touch(static_cast<std::size_t>(number(2)));
    ::usleep(200'000);  // long enough to be seen
    return 0;
  }
  if (what == "leak") return leak(static_cast<std::size_t>(number(2)), number(3));
  if (what == "processes") return processes(number(2));
  if (what == "threads") return threads(number(2));
  if (what == "spin") return spin_in(number(2), number(3) / 1000.0);
  if (what == "spin-unwaited") return spin_unwaited(number(2));
  if (what == "write") return write_file(words[2], number(3));
  if (what == "read-past-cache" || what == "write-past-cache" || what == "write-later")
    return move_blocks(words[2], number(3), what);
  if (what == "files") return open_files(number(2));
  if (what == "talk") return talk(number(2));
  if (what == "sleep") return ::sleep(static_cast<unsigned>(number(2))) == 0 ? 0 : 1;
  if (what == "chatter") {
    for (int i = 0; i < number(2); ++i) {
      std::printf(".");
      std::fflush(stdout);
      ::usleep(100'000);
    }
    return 0;
  }
  if (what == "ignore-term") {
    std::signal(SIGTERM, SIG_IGN);
    while (true) ::pause();
  }
  if (what == "stop") return ::raise(SIGSTOP) == 0 ? 0 : 1;
  if (what == "leave-group") return leave_group();
  return 2;
}
