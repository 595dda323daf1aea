// Ways out through processes: that stay, that multiply, that signal.
#include <sys/resource.h>

#include <csignal>

#include "tests/escape/escape.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

TEST(Escape, DoubleForkDaemon) {
  const std::string sleep = long_sleep();
  const std::string script = "(setsid sh -c 'trap \"\" HUP TERM INT; (sleep " + sleep +
                             " >/dev/null 2>&1 &)' &) ; sleep 0.3";
  EXPECT_EQ(attempt(shell(script)).ending, Ending(Exited{0}));
  EXPECT_EQ(processes_with(sleep), 0);
  if (sandbox_is_open()) return;
  // The control stays, in a process tree that ends with the shell that looks for it.
  const Plain control =
      run_plainly({"unshare", "-Urpf", "--kill-child", "--mount-proc", "sh", "-c",
                   script + "; grep -l " + sleep + " /proc/[0-9]*/cmdline | wc -l"});
  EXPECT_GE(std::atoi(control.text.c_str()), 2);  // the shell itself, which has it in its script
  EXPECT_TRUE(soon([&] { return processes_with(sleep) == 0; }));
}

// Bounded by its own count: what is shown is that all of them are gone.
TEST(Escape, ForkBomb) {
  const std::string sleep = long_sleep();
  const std::string script = "i=0; while [ $i -lt 100 ]; do setsid sleep " + sleep +
                             " >/dev/null 2>&1 & i=$((i+1)); done; exit 3";
  EXPECT_EQ(attempt(shell(script)).ending, Ending(Exited{3}));
  EXPECT_EQ(processes_with(sleep), 0);
  if (sandbox_is_open()) return;
  const Words act = {misbehave("make_process"), "many", "60"};
  SpecBuilder limited = sandboxed(act).process({.max_children = 20});
  if (is_root() && ControlGroups::of_this_process().version() == 0) {  // nobody counts: it says so
    EXPECT_THAT(attempt(limited).refusal, HasSubstr("max-children"));
  } else {
    EXPECT_EQ(attempt(limited).output, "20 denied 11 EAGAIN\n");
  }
  EXPECT_EQ(run_plainly(act).code, 0);
}

TEST(Escape, DescriptorBomb) {
  // As many as the limit allows, and the run still ends as the command says.
  const std::size_t before = names_of("/proc/self/fd").size();
  const Attempt inside =
      attempt(sandboxed({misbehave("fill"), "descriptors", "10000000"}).limits({.wall_time = 60s}));
  EXPECT_EQ(inside.ending, Ending(Exited{1}));
  EXPECT_EQ(inside.output, "denied 24 EMFILE\n");
  EXPECT_EQ(names_of("/proc/self/fd").size(), before);
  EXPECT_EQ(attempt(shell("echo next")).output, "next\n");
}

// A bystander outside whose end or whose stop would be seen.
class Bystander {
 public:
  Bystander() {
    sigset_t urgent;
    sigset_t before;
    ::sigemptyset(&urgent);
    ::sigaddset(&urgent, SIGURG);
    ::sigprocmask(SIG_BLOCK, &urgent, &before);
    pid_ = ::fork();
    if (pid_ == 0)
      for (;;) ::pause();
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;
  ~Bystander() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::string pid() const { return std::to_string(pid_); }
  [[nodiscard]] bool is_unharmed() const {
    siginfo_t information = {};
    ::waitid(P_PID, static_cast<id_t>(pid_), &information, WEXITED | WSTOPPED | WNOHANG | WNOWAIT);
    return information.si_pid == 0;
  }
  // Has SIGURG been sent to it, the only signal that it blocks?
  [[nodiscard]] bool is_signaled() const {
    const std::string status = content_of("/proc/" + pid() + "/status");
    return status.find("ShdPnd:\t0000000000000000") == std::string::npos;
  }
  [[nodiscard]] int niceness() const {
    return ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid_));
  }

 private:
  pid_t pid_ = -1;
};

TEST(Escape, SignalToTheSupervisor) {
  const Bystander bystander;
  const std::string numbers = std::to_string(::getpid()) + " " + bystander.pid();
  // Signal 0 to the supervisor, which is told apart from its absence; a real one to the bystander.
  const std::string script = "for p in " + numbers +
                             "; do kill -0 $p 2>/dev/null && echo there; "
                             "done; kill -KILL " +
                             bystander.pid() + " 2>/dev/null; echo $PPID";
  const Attempt inside = attempt(shell(script));
  EXPECT_EQ(inside.output, "1\n");
  EXPECT_TRUE(bystander.is_unharmed());
  const Bystander other;
  EXPECT_EQ(run_plainly({"sh", "-c", "kill -KILL " + other.pid()}).code, 0);
  EXPECT_TRUE(soon([&] { return !other.is_unharmed(); }));
}

// SIGURG, which everybody ignores who does not wait for it.
TEST(Escape, SignalToEverybody) {
  const Bystander bystander;
  EXPECT_EQ(attempt(shell("kill -s URG -- -1 0; echo sent")).output, "sent\n");
  EXPECT_FALSE(bystander.is_signaled());
  const Bystander other;
  EXPECT_EQ(run_plainly({"sh", "-c", "kill -s URG " + other.pid()}).code, 0);
  EXPECT_TRUE(other.is_signaled());
}

TEST(Escape, SignalByDescriptorOwner) {
  // The kernel sends SIGIO to whom the owner of a descriptor names, without asking again.
  const Bystander bystander;
  const std::string script =
      "import fcntl\nfor pid in (" + bystander.pid() + ",-" + bystander.pid() +
      "):\n  try: fcntl.fcntl(1,fcntl.F_SETOWN,pid); print('owned')\n  except OSError: pass\n";
  EXPECT_EQ(attempt(sandboxed({"python3", "-c", script})).output, "");
  EXPECT_THAT(run_plainly({"python3", "-c", script}).text, HasSubstr("owned"));
}

TEST(Escape, StopOfInit) {
  NOT_TRIED_IN_THE_OPEN("it is the machine's init");
  const std::string script = "for s in STOP TSTP TTIN KILL TERM HUP; do kill -$s 1; done; exit 5";
  EXPECT_EQ(attempt(shell(script).limits({.wall_time = 60s})).ending, Ending(Exited{5}));
}

TEST(Escape, PriorityOfAllProcessesOfTheUser) {
  const Bystander bystander;
  const int usual = ::getpriority(PRIO_PROCESS, 0);
  (void)attempt(shell("renice -n 5 -u 0 -u 1000 -u $(id -u); true"));
  EXPECT_EQ(bystander.niceness(), usual);
  if (sandbox_is_open()) return;
  const Plain control =
      run_plainly({"unshare", "-Urpf", "--kill-child", "--mount-proc", "sh", "-c",
                   "sleep 100 & renice -n 5 -u 0 >/dev/null; cut -d' ' -f19 /proc/$!/stat"});
  EXPECT_EQ(control.text, "5\n");
}

// Init is made the tracer of the command and hears of its signals: that is not its end.
TEST(Escape, PtraceTracemeByInit) {
  const Words act = {misbehave("filter_act"), "be_traced_by_init"};
  NOT_TRIED_IN_THE_OPEN("it would stop this test");
  const Attempt inside = attempt(sandboxed(act).limits({.wall_time = 20s}));
  EXPECT_EQ(inside.ending, Ending(Exited{0}));
  EXPECT_EQ(inside.output, "succeeded\n");
}

// Numbers of processes are used again: what is reported is the end of the command and of no other.
TEST(Escape, PidReuse) {
  const std::string script =
      "i=0; while [ $i -lt 100 ]; do sh -c '(exit 9) &'; i=$((i+1)); done; sleep 0.1; exit 4";
  EXPECT_EQ(attempt(shell(script)).ending, Ending(Exited{4}));
}

TEST(Escape, LimitsOfInit) {
  // A command may ask the kernel to limit init, which has its number: the run still ends.
  NOT_TRIED_IN_THE_OPEN("it is the machine's init");
  const Attempt inside = attempt(
      shell(
          "prlimit --pid 1 --nofile=3:3 --nproc=1:1 2>/dev/null; (sleep 0.1 &); sleep 0.3; exit 6")
          .limits({.wall_time = 20s}));
  EXPECT_EQ(inside.ending, Ending(Exited{6}));
}

}  // namespace
}  // namespace hermetic
