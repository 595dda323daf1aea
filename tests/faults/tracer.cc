#include "tests/faults/tracer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

// Options that prctl(2) does not have.
constexpr unsigned long kBegin = 0x68626567;
constexpr unsigned long kEnd = 0x68656e64;
constexpr int kLongestSeconds = 20;  // a run takes milliseconds: longer than this is for ever

// The C library and the kernel name the request differently; the number is the kernel's.
template <class Data>
long trace(int request, pid_t pid, unsigned long address, Data data) {
  return ::syscall(SYS_ptrace, request, pid, address, data);
}

// The allocator's, the sanitizer's and the locks': how many there are differs from run to run, and
// no code of ours makes them.
bool is_counted(long system_call) {
  switch (system_call) {
    case SYS_mmap:
    case SYS_mremap:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_madvise:
    case SYS_brk:
    case SYS_futex:
    case SYS_sched_yield:
    case SYS_restart_syscall:
#ifdef HERMETIC_SANITIZED
    case SYS_pipe2:  // by both of which it finds out whether memory can be read
    case SYS_write:
#endif
      return false;
    default: return true;
  }
}

struct Tracee {
  std::optional<Role> role;  // not known until its parent's event has come
  bool stopped_early = false;
  bool failing = false;  // the present call is the one that fails
};

class Tracer {
 public:
  Tracer(const Fault& fault, Record record) : fault_(fault), record_(record) {}

  Traced run(pid_t first, int go) {
    first_ = first;
    tracees_[first].role = Role::Supervisor;
    constexpr unsigned long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
                                       PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (trace(PTRACE_SEIZE, first, 0, kOptions) != 0 ||
        trace(PTRACE_INTERRUPT, first, 0, 0UL) != 0) {
      traced_.said = "cannot trace: " + std::to_string(errno);
      ::kill(first, SIGKILL);
    }
    if (::write(go, "g", 1) != 1) ::kill(first, SIGKILL);
    for (;;) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, __WALL);
      if (pid < 0 && errno == ECHILD) return traced_;
      if (pid < 0) {
        traced_.hung = true;
        for (const auto& [living, unused] : tracees_) ::kill(living, SIGKILL);
      } else {
        on_news(pid, status);
      }
    }
  }

 private:
  void on_news(pid_t pid, int status) {
    if (!WIFSTOPPED(status)) {
      if (pid == first_) traced_.status = status;
      tracees_.erase(pid);
      return;
    }
    Tracee& tracee = tracees_[pid];
    const int number = WSTOPSIG(status);
    const int event = status >> 16;
    if (number == (SIGTRAP | 0x80)) {
      on_system_call(pid, tracee);
    } else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
               event == PTRACE_EVENT_CLONE) {
      on_new_process(pid, *tracee.role, event == PTRACE_EVENT_VFORK);
    } else if (event == PTRACE_EVENT_EXEC) {
      if (tracee.role == Role::Child) tracee.role = Role::Init;
      if (tracee.role == Role::Starter) tracee.role = Role::Command;
      resume(pid, tracee);
    } else if (event != 0) {
      tracee.stopped_early = !tracee.role;
      if (tracee.role) resume(pid, tracee);
    } else {
      resume(pid, tracee, number);
    }
  }

  // The processes of a run borrow their parent's memory at first; others are a sanitizer's threads,
  // or what the command starts.
  void on_new_process(pid_t parent, Role role, bool borrows) {
    unsigned long message = 0;
    trace(PTRACE_GETEVENTMSG, parent, 0, &message);
    const auto pid = static_cast<pid_t>(message);
    Tracee& tracee = tracees_[pid];
    tracee.role = Role::Other;
    if (borrows && role == Role::Supervisor) tracee.role = Role::Child;
    if (borrows && role == Role::Init) tracee.role = Role::Starter;
    if (tracee.stopped_early) resume(pid, tracee);
    resume(parent, tracees_[parent]);
  }

  void on_system_call(pid_t pid, Tracee& tracee) {
    __ptrace_syscall_info call = {};
    if (trace(PTRACE_GET_SYSCALL_INFO, pid, sizeof call, &call) < 0) return;  // it is gone
    if (call.op == PTRACE_SYSCALL_INFO_EXIT && tracee.failing) {
      tracee.failing = false;
      put_result(pid, -fault_.error);
    }
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY && !on_entry(pid, tracee, call)) return;
    resume(pid, tracee);
  }

  // Returns false if the process was killed.
  bool on_entry(pid_t pid, Tracee& tracee, const __ptrace_syscall_info& call) {
    const auto number = static_cast<long>(call.entry.nr);
    if (number == SYS_prctl && call.entry.args[0] == kBegin) {
      counting_ = true;
      return true;
    }
    if (number == SYS_prctl && call.entry.args[0] == kEnd) counting_ = false;
    if (number == SYS_memfd_create && *tracee.role == Role::Supervisor) counting_ = true;
    if (*tracee.role == Role::Supervisor && !counting_) return true;
    if (!is_counted(number) || (fault_.only && number != *fault_.only)) return true;
    if (record_ == Record::Calls) traced_.calls[*tracee.role].push_back(number);
    const std::size_t count = counts_[*tracee.role]++;
    if (record_ == Record::Calls || traced_.reached || *tracee.role != fault_.role ||
        count != fault_.number)
      return true;
    if (fault_.error != 0 && !can_fail(number)) return true;
    traced_.reached = true;
    traced_.system_call = number;
    if (fault_.error == 0) {
      ::kill(fault_.kills_supervisor ? first_ : pid, SIGKILL);
      return fault_.kills_supervisor;
    }
    tracee.failing = true;
    // A close() that fails has closed all the same; any other call is left out.
    if (number != SYS_close) leave_out(pid);
    return true;
  }

  static void leave_out(pid_t pid) {
    user_regs_struct registers = {};
    trace(PTRACE_GETREGS, pid, 0, &registers);
    registers.orig_rax = ~0ULL;
    trace(PTRACE_SETREGS, pid, 0, &registers);
  }

  static void put_result(pid_t pid, long result) {
    user_regs_struct registers = {};
    trace(PTRACE_GETREGS, pid, 0, &registers);
    registers.rax = static_cast<unsigned long long>(result);
    trace(PTRACE_SETREGS, pid, 0, &registers);
  }

  void resume(pid_t pid, const Tracee& tracee, int signal = 0) {
    const bool watched =
        record_ == Record::Calls || tracee.failing ||
        (!traced_.reached && tracee.role && next_role(*tracee.role) == next_role(fault_.role));
    trace(watched ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, static_cast<unsigned long>(signal));
  }

  // The roles that one process goes through count as one here.
  static Role next_role(Role role) {
    if (role == Role::Child) return Role::Init;
    if (role == Role::Starter) return Role::Command;
    return role;
  }

  Fault fault_;
  Record record_;
  Traced traced_;
  pid_t first_ = -1;
  bool counting_ = false;
  std::map<pid_t, Tracee> tracees_;
  std::map<Role, std::size_t> counts_;
};

void on_alarm(int /*number*/) {}

void set_alarm(int seconds) {
  struct sigaction action = {};
  action.sa_handler = on_alarm;  // without SA_RESTART: waitpid() is to notice
  ::sigaction(SIGALRM, &action, nullptr);
  itimerval value = {};
  value.it_value.tv_sec = seconds;
  value.it_interval.tv_sec = seconds == 0 ? 0 : 1;
  ::setitimer(ITIMER_REAL, &value, nullptr);
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> block;
  for (ssize_t size = 0; (size = ::read(descriptor, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(size));
  return text;
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::Supervisor: return "supervisor";
    case Role::Child: return "child";
    case Role::Init: return "init";
    case Role::Starter: return "starter";
    case Role::Command: return "command";
    case Role::Other: return "other";
  }
  return "";
}

bool can_fail(long system_call) {
  switch (system_call) {
    case SYS_exit:
    case SYS_exit_group:
    case SYS_umask:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_kill:
    case SYS_pidfd_send_signal:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigreturn:
    case SYS_sigaltstack:
    case SYS_geteuid:
    case SYS_getegid:
    case SYS_getuid:
    case SYS_getgid:
    case SYS_getpid:
    case SYS_gettid: return false;
    default: return true;
  }
}

void begin_counting() { ::prctl(static_cast<int>(kBegin), 0, 0, 0, 0); }
void end_counting() { ::prctl(static_cast<int>(kEnd), 0, 0, 0, 0); }

namespace {

// Whoever waits for the other at every call had better not wake another processor for it: that
// takes twice as long.
class OnOneProcessor {
 public:
  OnOneProcessor() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(std::max(0, ::sched_getcpu())), &one);
    changed_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 &&
               ::sched_setaffinity(0, sizeof one, &one) == 0;
  }
  OnOneProcessor(const OnOneProcessor&) = delete;
  OnOneProcessor& operator=(const OnOneProcessor&) = delete;
  ~OnOneProcessor() {
    if (changed_) ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_ = {};
  bool changed_ = false;
};

}  // namespace

Traced run_traced(const std::function<std::string()>& act, const Fault& fault, Record record) {
  std::array<int, 2> go = {-1, -1};
  std::array<int, 2> answer = {-1, -1};
  if (::pipe2(go.data(), O_CLOEXEC) != 0) return {.said = "no pipe"};
  const UniqueFd go_reader(go[0]);
  const UniqueFd go_writer(go[1]);
  if (::pipe2(answer.data(), O_CLOEXEC) != 0) return {.said = "no pipe"};
  const UniqueFd reader(answer[0]);
  UniqueFd writer(answer[1]);
  const OnOneProcessor both;
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (::read(go_reader.get(), &byte, 1) != 1) ::_exit(1);
    const std::string said = act();
    ::_exit(::write(writer.get(), said.data(), said.size()) >= 0 ? 0 : 1);
  }
  writer.reset();
  set_alarm(kLongestSeconds);
  Traced traced = Tracer(fault, record).run(child, go_writer.get());
  set_alarm(0);
  if (traced.said.empty()) traced.said = read_all(reader.get());
  return traced;
}

}  // namespace hermetic
