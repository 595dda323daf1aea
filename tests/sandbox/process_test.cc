// Processes: how many, which programs, and what a caller with threads may expect.
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

TEST(NoFork, RefusesProcessesAndAllowsThreads) {
  const SpecBuilder with = sandboxed({}).process({.allow_fork = false});
  expect_denied(with, {misbehave("make_process"), "fork"}, {EPERM}, Control::Succeeds);
  expect_denied(with, {misbehave("make_process"), "vfork"}, {EPERM}, Control::Succeeds);
  expect_allowed(with, {misbehave("make_process"), "thread"});
}

TEST(MaxChildren, StopsAtTheLimit) {
  const Words act = {misbehave("make_process"), "many", "30"};
  SpecBuilder with = sandboxed(act).process({.max_children = 10});
  if (is_root() && ControlGroups::of_this_process().version() == 0) {
    // The kernel does not count the processes of root anywhere else.
    const Result<Finished> finished = try_run(with);
    ASSERT_FALSE(finished);
    EXPECT_THAT(finished.error().message, HasSubstr("max-children"));
    return;
  }
  EXPECT_EQ(run(with).standard_output.text, "10 denied 11 EAGAIN\n");
  EXPECT_EQ(run_plainly(act).code, 0);
}

TEST(NoExec, RunsTheDeclaredCommandOnly) {
  const SpecBuilder with = sandboxed({}).process({.allow_exec = false});
  expect_allowed(with, {misbehave("make_process"), "thread"});
  SpecBuilder script = with;
  script.command({"sh", "-c", "echo builtin; /bin/true || echo refused"});
  EXPECT_EQ(output_of(script), "builtin\nrefused\n");
  // Not by execveat() with an absolute path, whatever its other arguments.
  for (const char* descriptor : {"0", "3", "1023", "-100"})
    for (const char* flags : {"0", "0x1000"})
      for (const char* last : {"0", "1", "0xC0DE5EEDA11A5EC2"})
        expect_denied(with, {misbehave("execute"), descriptor, flags, last}, {EPERM},
                      Control::Succeeds);
  // A script is a program like any other: its interpreter is the kernel's business.
  const TempDir dir;
  const std::string file =
      dir.file("script", "#!/bin/sh\necho script; /bin/true || echo refused\n");
  ASSERT_EQ(::chmod(file.c_str(), 0755), 0);
  SpecBuilder interpreted = with;
  interpreted.input(file).command({file});
  EXPECT_EQ(output_of(interpreted), "script\nrefused\n");
  // Not through a copy, nor through the loader.
  script.command(
      {"sh", "-c",
       "cp /bin/true /tmp/t; /tmp/t || /lib64/ld-linux-x86-64.so.2 /bin/true || echo refused"});
  EXPECT_THAT(run(script).standard_output.text, HasSubstr("refused"));
}

TEST(ForkBomb, IsEndedByTheWallTime) {
  // Bounded: a dozen processes that are each replaced as soon as they end.
  const std::string script =
      "f() { (sleep 0.01; f) & }; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do f; done; sleep 1000";
  const std::string sleep = long_sleep();
  EXPECT_EQ(run(shell(script + " " + sleep).limits({.wall_time = 1s})).ending,
            Ending(TimedOut{1s}));
  EXPECT_EQ(processes_with(sleep), 0);
}

TEST(Threads, RunsFromSeveralAtOnce) {
  const std::size_t before = names_of("/proc/self/fd").size();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([thread, &good] {
      const TempDir dir;
      for (int i = 0; i < 50; ++i) {
        const std::string word = std::to_string(thread * 1000 + i);
        const Result<Finished> finished =
            try_run(shell("echo " + word + "; echo " + word + " >" + dir / "out/x; exit 0")
                        .output(dir / "out"));
        if (finished && finished->outcome.standard_output.text == word + "\n" &&
            content_of(dir / "out/x") == word + "\n")
          ++good;
        else if (!finished)
          ADD_FAILURE() << to_string(finished.error());
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
  EXPECT_EQ(names_of("/proc/self/fd").size(), before);
  errno = 0;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  EXPECT_EQ(errno, ECHILD);
}

// What it costs is measured by benchmarks/launch.py.
TEST(Threads, ALargeCallerWithThreadsCanRunCommands) {
  const std::vector<char> memory(std::size_t{200} << 20U,
                                 'x');  // touched, so that it is really there
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) std::vector<char>(4096).back() = memory[12345];
  });
  for (int i = 0; i < 15; ++i) EXPECT_EQ(run(shell("exit 3")).ending, Ending(Exited{3}));
  over = true;
  busy.join();
}

TEST(Caller, KeepsItsSignalsAndItsChildren) {
  const pid_t own = ::fork();
  if (own == 0) ::_exit(33);
  sigset_t mask_before;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask_before);
  for (int i = 0; i < 5; ++i) run(shell("sleep 0.01 & exit 1"));
  sigset_t mask_after;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask_after);
  EXPECT_EQ(std::memcmp(&mask_before, &mask_after, 8), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(-1, &status, 0), own);  // nothing of the runs is left to wait for
  EXPECT_EQ(WEXITSTATUS(status), 33);
}

// execve() gives init the usual exit signal, whatever was asked for: a caller that reaps all there
// is gets it before we do.
TEST(Caller, MayReapEverything) {
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) {
    const int saved = errno;
    while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
    }
    errno = saved;
  };
  ::sigaction(SIGCHLD, &action, &before);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(shell("exit 7")).ending, Ending(Exited{7}));
  ::sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace hermetic
