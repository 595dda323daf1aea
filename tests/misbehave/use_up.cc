// use_up WHAT [NUMBER...]: takes more of the machine than it should.
#include <fcntl.h>
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

int open_files(int count) {
  int opened = 0;
  while (opened < count && ::open("/dev/null", O_RDONLY) >= 0) ++opened;
  std::printf("%d %s\n", opened, opened == count ? "all" : ::strerrorname_np(errno));
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
  if (what == "files") return open_files(number(2));
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
