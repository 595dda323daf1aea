// How a run ends, and that nothing of it is left.
#include <csignal>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(Ending, IsTheExitCodeOfTheCommand) {
  for (const int code : {0, 1, 42, 125, 255})
    EXPECT_EQ(run(shell("exit " + std::to_string(code))).ending, Ending(Exited{code}));
}

TEST(Ending, IsTheSignalThatEndedTheCommand) {
  for (const int number : {SIGSEGV, SIGTERM, SIGKILL, SIGINT, SIGABRT, SIGPIPE})
    EXPECT_EQ(run(shell("kill -" + std::to_string(number) + " $$")).ending,
              Ending(Signaled{number}));
}

TEST(Ending, TellsACommandThatIsNotThere) {
  EXPECT_EQ(run(sandboxed({"no-such-command"})).ending, Ending(NotStarted{ENOENT}));
  EXPECT_EQ(run(sandboxed({"/no/such/command"})).ending, Ending(NotStarted{ENOENT}));
  EXPECT_EQ(run(sandboxed({"/etc/passwd/command"})).ending, Ending(NotStarted{ENOTDIR}));
}

TEST(Ending, TellsACommandThatCannotBeExecuted) {
  const TempDir dir;
  const std::string file = dir.file("file", "#!/bin/sh\n");
  EXPECT_EQ(run(sandboxed({file}).input(file)).ending, Ending(NotStarted{EACCES}));
  EXPECT_EQ(run(sandboxed({"/usr"})).ending, Ending(NotStarted{EACCES}));
  const std::string garbage = dir.file("garbage",
                                       "\x7f"
                                       "ELF nothing of the kind");
  std::filesystem::permissions(garbage, std::filesystem::perms::all);
  EXPECT_EQ(run(sandboxed({garbage}).input(garbage)).ending, Ending(NotStarted{ENOEXEC}));
}

TEST(Ending, TellsAnInterpreterThatIsNotDeclared) {
  const TempDir dir;
  const std::string script = dir.file("script", "#!" + dir.path() + "/interpreter\n");
  std::filesystem::permissions(script, std::filesystem::perms::all);
  EXPECT_EQ(run(sandboxed({script}).input(script)).ending, Ending(NotStarted{ENOENT}));
}

TEST(Ending, SearchesThePathOfTheSandboxAndNotOfTheCaller) {
  const TempDir dir;
  const std::string first = dir.file("first/tool", "#!/bin/sh\necho first\n");
  const std::string second = dir.file("second/tool", "#!/bin/sh\necho second\n");
  std::filesystem::permissions(second, std::filesystem::perms::all);
  std::filesystem::permissions(first, std::filesystem::perms::owner_read);
  const std::string path = "/nowhere:" + dir / "first" + ":" + dir / "second" + ":/usr/bin";
  // What cannot be executed is passed over, as every shell does.
  EXPECT_EQ(output_of(sandboxed({"tool"}).input(dir.path()).env("PATH", path)), "second\n");
  EXPECT_EQ(run(sandboxed({"tool"}).input(dir.path()).env("PATH", dir / "first")).ending,
            Ending(NotStarted{EACCES}));
  EXPECT_EQ(run(sandboxed({"tool"}).input(dir.path()).env("PATH", "")).ending,
            Ending(NotStarted{ENOENT}));
}

TEST(Ending, DoesNotDependOnSignalsThatTheCallerIgnoresOrBlocks) {
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  for (const int number : {SIGTERM, SIGUSR1, SIGCHLD}) ::sigaddset(&blocked, number);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const auto old = std::signal(SIGINT, SIG_IGN);
  EXPECT_EQ(run(shell("kill -INT $$")).ending, Ending(Signaled{SIGINT}));
  EXPECT_EQ(run(shell("kill -TERM $$")).ending, Ending(Signaled{SIGTERM}));
  EXPECT_THAT(output_of(sandboxed({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"})),
              "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  std::signal(SIGINT, old);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(Ending, WorksWhenTheCallerIgnoresItsChildren) {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run(shell("exit 7")).ending, Ending(Exited{7}));
  std::signal(SIGCHLD, old);
}

TEST(Ending, CommandIsNotProcessOne) {
  EXPECT_NE(output_of(shell("echo $$")), "1\n");
  // Process one that stops itself, or that anybody inside stops, would never end.
  EXPECT_EQ(run(shell("kill -STOP 1; kill -KILL 1; kill -TERM 1; exit 5")).ending,
            Ending(Exited{5}));
}

TEST(Ending, OrphansAreReapedWhileTheCommandRuns) {
  // Without an init the orphan would stay a zombie.
  EXPECT_EQ(
      output_of(shell("(sleep 0 & ) ; sleep 0.3; grep -l '^State:.Z' /proc/[0-9]*/status; true")),
      "");
}

TEST(Ending, DoesNotWaitForWhatTheCommandLeavesBehind) {
  const std::string sleep = long_sleep();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run(shell("sleep " + sleep + " & exit 3")).ending, Ending(Exited{3}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  EXPECT_EQ(processes_with(sleep), 0);
}

TEST(Ending, EndsADaemonOfItsOwnSession) {
  const std::string sleep = long_sleep();
  const std::string daemon =
      "setsid sh -c 'trap \"\" HUP TERM INT; sleep " + sleep + " & exit 0' & ";
  EXPECT_EQ(run(shell(daemon + "sleep 0.2")).ending, Ending(Exited{0}));
  EXPECT_EQ(processes_with(sleep), 0);
}

TEST(Ending, CountsTheTimeOfAllProcesses) {
  const Outcome outcome = run(shell("(i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done) & wait"));
  EXPECT_GT(outcome.usage.user_time + outcome.usage.system_time, 20ms);
  EXPECT_GT(outcome.usage.peak_memory_bytes, 500'000U);
  EXPECT_GE(outcome.usage.wall_time, outcome.usage.user_time / 4);
}

// Everything inside is gone when whoever called hermetic is gone, however that happened.
TEST(Ending, EverythingEndsWhenTheSupervisorIsKilled) {
  const std::string sleep = long_sleep();
  const pid_t supervisor = ::fork();
  if (supervisor == 0) {
    (void)try_run(shell("setsid sleep " + sleep + " & trap '' TERM HUP; sleep " + sleep),
                  {.standard_input = -1});
    ::_exit(0);
  }
  EXPECT_TRUE(soon([&] { return processes_with(sleep) >= 4; }));  // init, shell, two sleepers
  ::kill(supervisor, SIGKILL);
  ::waitpid(supervisor, nullptr, 0);
  EXPECT_TRUE(soon([&] { return processes_with(sleep) == 0; })) << processes_with(sleep);
}

TEST(Ending, DestroyingARunEndsIt) {
  const std::string sleep = long_sleep();
  LinuxBackend backend = LinuxBackend::make().value();
  const Spec spec = shell("sleep " + sleep).build().value();
  const Plan plan = make_plan(spec, backend.probe()).value();
  Audience events;
  {
    const auto run = backend.start(plan, {.standard_input = -1}, events);
    ASSERT_TRUE(run) << to_string(run.error());
    EXPECT_TRUE(soon([&] { return processes_with(sleep) > 0; }));
  }
  EXPECT_EQ(processes_with(sleep), 0);
}

TEST(Ending, ASignalReachesTheCommandAndAKillEndsTheRun) {
  LinuxBackend backend = LinuxBackend::make().value();
  Audience events;
  const auto start = [&](const std::string& script) {
    const Plan plan = make_plan(shell(script).build().value(), backend.probe()).value();
    return backend.start(plan, captured(), events).value();
  };
  auto asked = start("trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done");
  ::usleep(300'000);
  asked->signal(SIGUSR1);
  EXPECT_EQ(asked->wait().value().ending, Ending(Exited{9}));
  auto killed = start("sleep 1000");
  killed->kill();
  EXPECT_EQ(killed->wait().value().ending, Ending(Signaled{SIGKILL}));
}

class WallTime : public ::testing::TestWithParam<const char*> {};

TEST_P(WallTime, EndsTheWholeTree) {
  const std::string sleep = long_sleep();
  const std::string script = std::string(GetParam()) + " sleep " + sleep + " & sleep " + sleep;
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run(shell(script).limits({.wall_time = 300ms}));
  EXPECT_EQ(outcome.ending, Ending(TimedOut{300ms}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 6s);
  EXPECT_GE(outcome.usage.wall_time, 300ms);
  EXPECT_EQ(processes_with(sleep), 0);
}
INSTANTIATE_TEST_SUITE_P(Of, WallTime,
                         ::testing::Values("", "trap '' TERM INT HUP;", "setsid",
                                           "(sleep 0.1; kill -STOP -1) &", "kill -STOP $$;"));

TEST(WallTimeLimit, HoldsForACommandThatNeverStopsWriting) {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome =
      run(sandboxed({misbehave("flood"), "0", "1", "2"}).limits({.wall_time = 300ms}));
  EXPECT_EQ(outcome.ending, Ending(TimedOut{300ms}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 6s);
}

TEST(WallTimeLimit, LeavesACommandThatEndsInTimeAlone) {
  EXPECT_EQ(run(shell("exit 4").limits({.wall_time = 60s})).ending, Ending(Exited{4}));
}

TEST(WallTimeLimit, LetsTheCommandCleanUp) {
  const Outcome outcome =
      run(shell("trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done")
              .limits({.wall_time = 300ms}));
  EXPECT_EQ(outcome.ending, Ending(TimedOut{300ms}));
  EXPECT_EQ(outcome.standard_output.text, "cleaned\n");
}

}  // namespace
}  // namespace hermetic
