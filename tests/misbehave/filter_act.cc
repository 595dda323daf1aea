// Tries to get around a filter that it is under: filter_act VERB [PATH].
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

bool denied_call() { return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0; }

int errno_of_denied_call() { return denied_call() ? 0 : errno; }

int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

// A filter of our own that asks us about the call, and we say: go on.
bool answer_for_the_kernel() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = 4, .filter = program};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const auto listener = static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
  if (listener < 0) return false;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(errno_of_denied_call());
  siginfo_t information = {};
  for (int i = 0; i < 500 && information.si_pid == 0; ++i) {
    pollfd asked = {.fd = listener, .events = POLLIN, .revents = 0};
    if (::poll(&asked, 1, 10) > 0 && (asked.revents & POLLIN) != 0) {
      seccomp_notif question = {};
      ::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question);
      seccomp_notif_resp answer = {};
      answer.id = question.id;
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
      ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    ::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOHANG | WNOWAIT);
  }
  errno = exit_code_of(child);
  return errno == 0;
}

// A debugger that changes the number of a call after the filter has looked at it.
bool change_a_call() {
#if defined(__x86_64__)
  const pid_t child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    const long result = ::syscall(SYS_getppid, KEYCTL_JOIN_SESSION_KEYRING, 0);
    ::_exit(result >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  while (::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr) == 0 &&
         ::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    user_regs_struct registers = {};
    ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    if (registers.orig_rax != SYS_getppid) continue;
    registers.orig_rax = SYS_keyctl;
    ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
  }
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
  return errno == 0;
#else
  errno = ENOSYS;
  return false;
#endif
}

// The rules that somebody else set are read back: one of them may hold a secret.
bool read_the_filter() {
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter everything = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog filter = {.len = 1, .filter = &everything};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const bool read = ::ptrace(PTRACE_SECCOMP_GET_FILTER, child, 0, nullptr) >= 0;
  const int error = errno;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  errno = error;
  return read;
}

// Rules that allow everything, put over those that are there.
bool allow_everything(const char* path) {
  constexpr std::uint64_t kAll = (1ULL << 13U) - 1;
  const landlock_ruleset_attr attributes = {.handled_access_fs = kAll};
  const auto rules =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  landlock_path_beneath_attr whole = {};
  whole.allowed_access = kAll;
  whole.parent_fd = ::open("/", O_PATH | O_CLOEXEC);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &whole, 0) != 0 ||
      ::syscall(SYS_landlock_restrict_self, rules, 0) != 0)
    return false;
  return ::open(path, O_WRONLY | O_TRUNC) >= 0;
}

void on_signal(int /*number*/) { misbehave::tell(true); }

// Makes init our tracer, which then hears of every signal before we do.
[[noreturn]] void be_traced_by_init() {
  ::signal(SIGUSR1, on_signal);
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) misbehave::tell(false);
  ::raise(SIGUSR1);
  misbehave::tell(false, ECANCELED);
}

}  // namespace

int main(int count, char** words) {
  const std::string_view verb = count > 1 ? words[1] : "";
  errno = 0;
  if (verb == "nothing") misbehave::tell(denied_call());
  if (verb == "answer_for_the_kernel") misbehave::tell(answer_for_the_kernel());
  if (verb == "change_a_call") misbehave::tell(change_a_call());
  if (verb == "read_the_filter") misbehave::tell(read_the_filter());
  if (verb == "allow_everything" && count > 2) misbehave::tell(allow_everything(words[2]));
  if (verb == "be_traced_by_init") be_traced_by_init();
  misbehave::usage("filter_act VERB [PATH]");
}
