// Reaches into another process: look_into VERB PID, or a child of its own that does not mind:
// look_into VERB child.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

alignas(4096) char page[4096] = "x";  // at the same address in a child

std::string file_of(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

bool copy_memory(pid_t pid, long call) {
  char byte = 'y';
  const iovec here = {.iov_base = &byte, .iov_len = 1};
  const iovec there = {.iov_base = page, .iov_len = 1};
  return ::syscall(call, pid, &here, 1, &there, 1, 0) == 1;
}

bool advise(pid_t pid) {
  const long process = ::syscall(SYS_pidfd_open, pid, 0);
  const iovec there = {.iov_base = page, .iov_len = sizeof page};
  constexpr long kProcessMadvise = 440;
  return ::syscall(kProcessMadvise, process, &there, 1, 20 /* MADV_COLD */, 0) >= 0;
}

bool take_descriptor(pid_t pid) {
  const long process = ::syscall(SYS_pidfd_open, pid, 0);
  return process >= 0 && ::syscall(SYS_pidfd_getfd, process, 0, 0) >= 0;
}

bool look(std::string_view verb, pid_t pid) {
  char text[4096];
  if (verb == "attach") return ::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0;
  if (verb == "seize") return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0;
  if (verb == "read_memory") return copy_memory(pid, SYS_process_vm_readv);
  if (verb == "write_memory") return copy_memory(pid, SYS_process_vm_writev);
  if (verb == "open_memory") return ::open(file_of(pid, "mem").c_str(), O_RDONLY) >= 0;
  if (verb == "advise") return advise(pid);
  if (verb == "take_descriptor") return take_descriptor(pid);
  if (verb == "compare") return ::syscall(SYS_kcmp, pid, ::getpid(), 2 /* KCMP_FILES */, 0, 0) >= 0;
  if (verb == "list_root") return ::open(file_of(pid, "root/").c_str(), O_RDONLY) >= 0;
  if (verb == "list_directory") return ::open(file_of(pid, "cwd/").c_str(), O_RDONLY) >= 0;
  if (verb == "open_descriptor") return ::open(file_of(pid, "fd/0").c_str(), O_RDONLY) >= 0;
  if (verb == "open_program") return ::open(file_of(pid, "exe").c_str(), O_RDONLY) >= 0;
  if (verb == "read_program")
    return ::readlink(file_of(pid, "exe").c_str(), text, sizeof text) >= 0;
  if (verb == "open_namespace") return ::open(file_of(pid, "ns/mnt").c_str(), O_RDONLY) >= 0;
  if (verb == "read_environment") {
    const int fd = ::open(file_of(pid, "environ").c_str(), O_RDONLY);
    return fd >= 0 && ::read(fd, text, sizeof text) >= 0;
  }
  misbehave::usage("look_into VERB PID|child");
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) misbehave::usage("look_into VERB PID|child");
  const bool own = std::string_view(words[2]) == "child";
  pid_t pid = own ? ::fork() : static_cast<pid_t>(misbehave::number(words[2]));
  if (pid == 0)
    for (;;) ::pause();
  errno = 0;
  const bool done = look(words[1], pid);
  const int error = errno;
  if (own) ::kill(pid, SIGKILL);
  misbehave::tell(done, error);
}
