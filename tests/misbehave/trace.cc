// Attaches to a process as a debugger does: to pid 1, to a child, or reads its memory.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "tests/misbehave/act.h"

namespace {

bool read_memory_of(pid_t pid) {
  char byte = 0;
  const iovec here = {.iov_base = &byte, .iov_len = 1};
  const iovec there = {.iov_base = reinterpret_cast<void*>(0x400000), .iov_len = 1};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == 1;
}

bool take_descriptor_of(pid_t pid) {
  const long pidfd = ::syscall(SYS_pidfd_open, pid, 0);
  return pidfd >= 0 && ::syscall(SYS_pidfd_getfd, pidfd, 3, 0) >= 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view whom = count > 1 ? words[1] : "";
  if (whom == "init") misbehave::tell(::ptrace(PTRACE_ATTACH, 1, nullptr, nullptr) == 0);
  if (whom == "seize_init") misbehave::tell(::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr) == 0);
  if (whom == "memory_of_init") misbehave::tell(read_memory_of(1));
  if (whom == "descriptor_of_init") misbehave::tell(take_descriptor_of(1));
  if (whom != "child")
    misbehave::usage("trace init|seize_init|memory_of_init|descriptor_of_init|child");
  const pid_t child = ::fork();
  if (child == 0)
    for (;;) ::pause();
  const bool attached = ::ptrace(PTRACE_ATTACH, child, nullptr, nullptr) == 0;
  const int error = errno;
  ::kill(child, SIGKILL);
  misbehave::tell(attached, error);
}
