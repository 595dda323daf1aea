// Runs a part of a test where it may mount things without anybody noticing.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "hermetic/base/unique_fd.h"
#include "tests/unit/spec/must_work.h"

namespace hermetic {

inline bool bind_mount(const std::string& from, const std::string& to) {
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

struct Answer {
  std::string text;
  std::string skipped;  // why nothing could be asked
};

// The text that `ask` returns in a child process with mounts of its own.
inline Answer ask_in_mount_namespace(const std::function<std::string()>& ask) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {"", "no pipe"};
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    const int kinds = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(kinds) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      text = std::string("!no mount namespace: ") + std::strerror(errno);
    else
      text = "=" + ask();
    const bool written = ::write(writer.get(), text.data(), text.size()) >= 0;
    ::_exit(written ? 0 : 1);
  }
  writer.reset();
  std::string text;
  std::array<char, 4096> block;
  for (ssize_t size = 0; (size = ::read(reader.get(), block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(size));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0 || text.empty()) return {"the child failed", ""};
  return text[0] == '=' ? Answer{text.substr(1), ""} : Answer{"", text.substr(1)};
}

// The thread sanitizer has a thread of its own, and a process with threads cannot make the user
// namespace that a plain user needs. The same cases run as root there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HERMETIC_HAS_OTHER_THREADS
#endif
#endif
#ifdef HERMETIC_HAS_OTHER_THREADS
inline bool can_make_mounts() { return ::geteuid() == 0; }
#else
inline bool can_make_mounts() { return true; }
#endif

}  // namespace hermetic

// A missing capability is a skip with its reason, and a failure where everything must work.
#define SKIP_UNLESS_ANSWERED(answer)                                                           \
  do {                                                                                         \
    if (!(answer).skipped.empty() && ::hermetic::can_make_mounts() && ::hermetic::must_work()) \
      FAIL() << (answer).skipped;                                                              \
    if (!(answer).skipped.empty()) GTEST_SKIP() << (answer).skipped;                           \
  } while (false)
