// Every limit, with control groups where there are some and without any; and the same act without
// the limit, which succeeds.
#include <sys/socket.h>
#include <sys/vfs.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include "hermetic/monitor/control_group.h"
#include "tests/limits/groups_of.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;
using Groups = LinuxBackend::Groups;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::VariantWith;

Words use_up(Words words) {
  words.insert(words.begin(), misbehave("use_up"));
  return words;
}

class Limit : public ::testing::TestWithParam<Groups> {
 protected:
  void SetUp() override {
    if (GetParam() == Groups::Detect && ControlGroups::of_this_process().version() == 0)
      GTEST_SKIP() << "no control group is ours here: "
                   << ControlGroups::of_this_process().why_not();
  }
  void TearDown() override { EXPECT_THAT(groups_of(::getpid()), SizeIs(0)); }

  static LinuxBackend backend() { return LinuxBackend::make(Mounts::Detect, GetParam()).value(); }

  static Strength strength_of(Clause clause) {
    return backend().probe().clauses.at(clause).strength;
  }

  // A clause that is only observed has to be given up; then it is still looked after.
  static Result<Outcome> attempt(SpecBuilder builder, ResourceLimits limits,
                                 const RunOptions& options = captured()) {
    Draft draft;
    for (const Clause clause : {Clause::MemoryLimit, Clause::CpuTimeLimit, Clause::ProcessesLimit,
                                Clause::DiskWriteLimit, Clause::MaxChildren})
      if (strength_of(clause) == Strength::Observed)
        draft.give_up.insert(std::string(to_string(clause)));
    const Spec spec = TRY(builder.limits(limits).overlay(draft).build());
    LinuxBackend linux = backend();
    Audience events;
    return std::move(TRY(execute(spec, linux, options, events)).outcome);
  }
  static Outcome run_limited(const SpecBuilder& builder, ResourceLimits limits) {
    return attempt(builder, limits).value();
  }
};

testing::Matcher<const Ending&> is_over(const std::string& which, std::uint64_t limit) {
  return VariantWith<OverLimit>(AllOf(Field(&OverLimit::which, which),
                                      Field(&OverLimit::actual, Ge(limit)),
                                      Field(&OverLimit::limit, limit)));
}

TEST_P(Limit, MemoryOfOneProcess) {
  const SpecBuilder hog = sandboxed(use_up({"memory", "120"}));
  EXPECT_THAT(run_limited(hog, {.memory_bytes = 40 * kMegabyte}).ending,
              is_over("memory", 40 * kMegabyte));
  EXPECT_TRUE(run_limited(hog, {.memory_bytes = 400 * kMegabyte}).success());
  EXPECT_TRUE(run_limited(hog, {}).success());
}

TEST_P(Limit, MemoryLeakedAcrossForks) {
  const SpecBuilder leak = sandboxed(use_up({"leak", "20", "6"}));  // 140 MB, 20 in each
  EXPECT_THAT(run_limited(leak, {.memory_bytes = 60 * kMegabyte}).ending,
              is_over("memory", 60 * kMegabyte));
  EXPECT_TRUE(run_limited(leak, {.memory_bytes = 400 * kMegabyte}).success());
}

// Somebody inside who is killed is not somebody who had no memory.
TEST_P(Limit, AKillIsNoLackOfMemory) {
  const Outcome outcome = run_limited(shell("kill -KILL $$"), {.memory_bytes = 400 * kMegabyte});
  EXPECT_EQ(outcome.ending, Ending(Signaled{SIGKILL}));
}

TEST_P(Limit, Processes) {
  const SpecBuilder bomb = sandboxed(use_up({"processes", "40"}));
  const Outcome outcome = run_limited(bomb, {.processes = 10});
  if (GetParam() == Groups::Detect || is_root()) {
    EXPECT_THAT(outcome.ending, is_over("processes", 10));
  } else {  // refused by the kernel, which tells nobody else
    EXPECT_EQ(outcome.standard_output.text, "9 EAGAIN\n");
  }
  EXPECT_LE(outcome.usage.peak_processes, is_root() && GetParam() == Groups::None ? 41U : 10U);
  EXPECT_EQ(run_limited(bomb, {.processes = 50}).standard_output.text, "40 all\n");
}

TEST_P(Limit, Children) {
  const auto bomb = [](std::uint64_t most) {
    return sandboxed(use_up({"processes", "40"})).process({.max_children = most});
  };
  const Outcome outcome = run_limited(bomb(5), {});
  if (GetParam() == Groups::None && is_root())  // nobody refuses what root starts
    EXPECT_THAT(outcome.ending, is_over("max_children", 5));
  else
    EXPECT_EQ(outcome.standard_output.text, "5 EAGAIN\n");
  EXPECT_EQ(run_limited(bomb(40), {}).standard_output.text, "40 all\n");
}

TEST_P(Limit, ExactlyTheLimitIsNotTooMuch) {
  const Outcome outcome = run_limited(sandboxed(use_up({"processes", "9"})), {.processes = 10});
  EXPECT_TRUE(outcome.success());
  EXPECT_EQ(outcome.standard_output.text, "9 all\n");
}

TEST_P(Limit, ThreadsCountAsProcesses) {
  const SpecBuilder bomb = sandboxed(use_up({"threads", "40"}));
  const Outcome outcome = run_limited(bomb, {.processes = 10});
  if (GetParam() == Groups::Detect || is_root())
    EXPECT_THAT(outcome.ending, is_over("processes", 10));
  else
    EXPECT_THAT(outcome.standard_output.text, HasSubstr("9 denied"));
  EXPECT_TRUE(run_limited(bomb, {.processes = 50}).success());
}

TEST_P(Limit, CpuTimeOfManyProcesses) {
  const SpecBuilder spin = sandboxed(use_up({"spin", "4", "300"}));  // 1.2 s
  EXPECT_THAT(run_limited(spin, {.cpu_time = 400ms}).ending, is_over("cpu_time", 400));
  const Outcome outcome = run_limited(spin, {.cpu_time = 10s});
  EXPECT_TRUE(outcome.success());
  EXPECT_GE(outcome.usage.cpu_time(), 1000ms);
}

// What nobody waits for is in no process's sum, but in that of the group.
TEST_P(Limit, CpuTimeThatNobodyWaitsFor) {
  if (strength_of(Clause::CpuTimeLimit) != Strength::Enforced)
    GTEST_SKIP() << "observed: this is the hole that the clause names";
  const SpecBuilder spin = sandboxed(use_up({"spin-unwaited", "100"}));  // 1 s
  EXPECT_THAT(run_limited(spin, {.cpu_time = 300ms}).ending, is_over("cpu_time", 300));
}

TEST_P(Limit, DiskWrite) {
  const TempDir dir;
  struct statfs status = {};
  ASSERT_EQ(::statfs(dir.path().c_str(), &status), 0);
  if (status.f_type == 0x01021994) GTEST_SKIP() << "the temporary files are in memory here";
  const std::string out = dir.path() + "/out";
  const SpecBuilder filler = sandboxed(use_up({"write", out + "/file", "200"})).output(out);
  EXPECT_THAT(run_limited(filler, {.disk_write_bytes = 20 * kMegabyte}).ending,
              is_over("disk_write", 20 * kMegabyte));
  EXPECT_FALSE(std::filesystem::exists(out));
  const Outcome outcome = run_limited(filler, {.disk_write_bytes = 1000 * kMegabyte});
  EXPECT_TRUE(outcome.success());
  EXPECT_GE(outcome.usage.transfers.disk_written_bytes, 200 * kMegabyte);
}

TEST_P(Limit, NetworkBytesOfTheLoopback) {
  const SpecBuilder talk =
      sandboxed(use_up({"talk", "200"})).network({.mode = NetworkPolicy::Mode::Loopback});
  EXPECT_THAT(run_limited(talk, {.network_bytes = 20 * kMegabyte}).ending,
              is_over("network_bytes", 20 * kMegabyte));
  const Outcome outcome = run_limited(talk, {.network_bytes = 1000 * kMegabyte});
  EXPECT_EQ(outcome.standard_output.text, "200\n");
  EXPECT_GE(outcome.usage.network_bytes, 200 * kMegabyte);
  // The caller's network is not counted for one command.
  const Result<Outcome> host =
      attempt(SpecBuilder(talk).network({.mode = NetworkPolicy::Mode::Host}), {.network_bytes = 1});
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().message, HasSubstr("network-bytes-limit is absent"));
  EXPECT_THAT(host.error().hint, HasSubstr("--allow-host"));
}

TEST_P(Limit, FileSize) {
  const SpecBuilder grow = sandboxed(use_up({"write", "/tmp/file", "20"}));
  EXPECT_THAT(run_limited(grow, {.file_size_bytes = 5 * kMegabyte}).ending,
              is_over("file_size", 5 * kMegabyte));
  EXPECT_EQ(run_limited(grow, {.file_size_bytes = 20 * kMegabyte}).standard_output.text,
            "20 all\n");
}

TEST_P(Limit, OpenFiles) {
  const SpecBuilder bomb = sandboxed(use_up({"files", "100"}));
  EXPECT_EQ(run_limited(bomb, {.open_files = 20}).standard_output.text, "17 EMFILE\n");
  EXPECT_EQ(run_limited(bomb, {.open_files = 200}).standard_output.text, "100 all\n");
}

// The kernel holds all that a user's programs are passing to each other against the limit of
// whoever passes one more: init did, and the sandbox could not be made.
TEST_P(Limit, OpenFilesWhileOthersPassSome) {
  constexpr int kPassed = 60;
  std::array<int, 2> sockets = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const UniqueFd sender(sockets[0]);
  const UniqueFd receiver(sockets[1]);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kPassed * sizeof(int))> control = {};
  char byte = 0;
  iovec data = {.iov_base = &byte, .iov_len = 1};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(kPassed * sizeof(int));
  const std::vector<int> passed(kPassed, sender.get());
  std::memcpy(CMSG_DATA(header), passed.data(), kPassed * sizeof(int));
  ASSERT_EQ(::sendmsg(sender.get(), &message, 0), 1);
  const SpecBuilder bomb = sandboxed(use_up({"files", "100"}));
  EXPECT_EQ(run_limited(bomb, {.open_files = 20}).standard_output.text, "17 EMFILE\n");
}

TEST_P(Limit, IdleTime) {
  EXPECT_EQ(run_limited(sandboxed(use_up({"sleep", "600"})), {.idle_time = 300ms}).ending,
            Ending(TimedOut{300ms, TimedOut::Which::IdleTime}));
  EXPECT_TRUE(run_limited(sandboxed(use_up({"chatter", "12"})), {.idle_time = 700ms}).success());
  EXPECT_TRUE(
      run_limited(sandboxed(use_up({"spin", "1", "1200"})), {.idle_time = 700ms}).success());
}

TEST_P(Limit, WallTimeWhateverTheCommandDoes) {
  for (const Words& act : {Words{"sleep", "600"}, Words{"ignore-term"}, Words{"stop"},
                           Words{"leave-group"}, Words{"spin", "3", "600000"}}) {
    SCOPED_TRACE(act.front());
    RunOptions options = captured();
    options.grace = 100ms;
    const Result<Outcome> outcome = attempt(sandboxed(use_up(act)), {.wall_time = 200ms}, options);
    EXPECT_EQ(outcome.value().ending, Ending(TimedOut{200ms}));
  }
}

TEST_P(Limit, EverythingAtOnce) {
  const Outcome outcome =
      run_limited(sandboxed(use_up({"processes", "3"})), {.memory_bytes = 400 * kMegabyte,
                                                          .cpu_time = 10s,
                                                          .wall_time = 60s,
                                                          .idle_time = 30s,
                                                          .processes = 20,
                                                          .file_size_bytes = kMegabyte,
                                                          .open_files = 50,
                                                          .disk_write_bytes = 100 * kMegabyte});
  EXPECT_TRUE(outcome.success());
  EXPECT_EQ(outcome.usage.started_processes, 4U);
}

TEST_P(Limit, SnapshotFromAnotherThread) {
  const Spec spec = sandboxed(use_up({"spin", "2", "400"})).build().value();
  LinuxBackend linux = backend();
  const Plan plan = make_plan(spec, linux.probe()).value();
  Audience events;
  const std::unique_ptr<hermetic::Run> run = linux.start(plan, captured(), events).value();
  Usage most;
  std::thread watcher([&] {
    for (int i = 0; i < 20; ++i) {
      const Usage now = run->snapshot();
      if (now.processes > most.processes) most = now;
      std::this_thread::sleep_for(10ms);
    }
  });
  const Outcome outcome = run->wait().value();
  watcher.join();
  EXPECT_TRUE(outcome.success());
  EXPECT_GE(most.processes, 1U);
  EXPECT_GT(most.memory_bytes, 0U);
}

class Collector final : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
  void on_sample(const Usage& usage) override { samples.push_back(usage); }
  std::vector<Usage> samples;
};

TEST_P(Limit, SamplesAndProcesses) {
  const Spec spec = sandboxed(use_up({"spin", "3", "300"})).build().value();
  LinuxBackend linux = backend();
  Collector events;
  RunOptions options = captured();
  options.sample_every = 20ms;
  options.watch_processes = true;
  const Outcome outcome = execute(spec, linux, options, events).value().outcome;
  ASSERT_THAT(events.samples, SizeIs(Ge(3U)));
  for (std::size_t i = 1; i < events.samples.size(); ++i) {
    EXPECT_GT(events.samples[i].wall_time, events.samples[i - 1].wall_time);
    EXPECT_GE(events.samples[i].cpu_time(), events.samples[i - 1].cpu_time());
  }
  EXPECT_EQ(outcome.usage.by_process.size(), 4U);
  EXPECT_THAT(outcome.usage.by_process, Contains(Field(&ProcessUsage::name, "use_up")));
  EXPECT_EQ(outcome.usage.peak_processes, 4U);
  EXPECT_GT(outcome.usage.minor_faults, 0U);
}

INSTANTIATE_TEST_SUITE_P(Limits, Limit, ::testing::Values(Groups::Detect, Groups::None),
                         [](const auto& chosen) {
                           return chosen.param == Groups::Detect ? "WithGroups" : "WithoutGroups";
                         });

TEST(ExecuteWithTimeout, EndsTheRun) {
  LinuxBackend linux = LinuxBackend::make().value();
  Audience events;
  Spec spec = sandboxed(use_up({"sleep", "600"})).build().value();
  EXPECT_EQ(execute_with_timeout(spec, 200ms, linux, captured(), events).value().outcome.ending,
            Ending(TimedOut{200ms}));
  spec.limits.wall_time = 100ms;  // the shorter one
  EXPECT_EQ(execute_with_timeout(spec, 1h, linux, captured(), events).value().outcome.ending,
            Ending(TimedOut{100ms}));
  const Spec quick = shell("true").build().value();
  EXPECT_TRUE(execute_with_timeout(quick, 1h, linux, captured(), events).value().outcome.success());
}

TEST(CpuWeight, IsSetOrRefused) {
  const Spec spec = shell("true").limits({.cpu_weight = 50}).build().value();
  LinuxBackend linux = LinuxBackend::make().value();
  Audience events;
  const Result<Finished> finished = execute(spec, linux, captured(), events);
  if (linux.probe().clauses.at(Clause::CpuWeight).strength == Strength::Enforced)
    EXPECT_TRUE(finished.value().outcome.success());
  else
    EXPECT_THAT(finished.error().message, HasSubstr("cpu-weight"));
}

// Version 2 alone tells how long somebody had to wait, if the kernel was built for it.
TEST(CpuPressure, IsToldWhereTheGroupKnowsIt) {
  const ControlGroups groups = ControlGroups::of_this_process();
  if (!groups.has(Controller::CpuAccounting)) GTEST_SKIP() << groups.why_not();
  const bool expected = groups.version() == 2 && exists("/proc/pressure/cpu");
  const Outcome busy =
      run(sandboxed(use_up({"spin", "4", "200"})).limits({.cpu_time = 1h}).process({.cpus = 1}));
  EXPECT_EQ(busy.usage.pressure.has_value(), expected);
  if (expected) {
    EXPECT_GT(busy.usage.pressure->cpu, 0ms);  // four, on one
  }
}

TEST(CpuCount, IsWhatTheCommandSees) {
  EXPECT_EQ(output_of(shell("nproc").process({.cpus = 1})), "1\n");
  // And it stays that.
  EXPECT_EQ(output_of(shell("taskset -p ff $$ >/dev/null 2>&1; nproc").process({.cpus = 1})),
            "1\n");
}

TEST(Nice, IsWhatTheCommandGets) {
  EXPECT_EQ(output_of(shell("nice").process({.nice = 7})), "7\n");
  EXPECT_EQ(output_of(shell("nice -n -5 nice 2>/dev/null").process({.nice = 7})), "7\n");
}

// A supervisor is killed in the middle: nobody is left, and the next one removes its group.
TEST(Group, OfAKilledSupervisorGoesWithTheNext) {
  const ControlGroups groups = ControlGroups::of_this_process();
  if (!groups.has(Controller::Memory)) GTEST_SKIP() << groups.why_not();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)try_run(sandboxed(use_up({"sleep", "600"})).limits({.memory_bytes = 400 * kMegabyte}));
    ::_exit(1);
  }
  for (int i = 0; i < 500 && groups_of(child).empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_THAT(groups_of(child), Not(SizeIs(0)));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // Its processes need a moment; then the next run takes the folder away.
  for (int i = 0; i < 500 && !groups_of(child).empty(); ++i) {
    EXPECT_TRUE(run(shell("true").limits({.memory_bytes = 400 * kMegabyte})).success());
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_THAT(groups_of(child), SizeIs(0));
}

TEST(Group, OfALivingRunIsLetBe) {
  const ControlGroups groups = ControlGroups::of_this_process();
  if (!groups.has(Controller::Memory)) GTEST_SKIP() << groups.why_not();
  const ControlGroup living = groups.make({.memory_bytes = 400 * kMegabyte}).value();
  const std::vector<std::string> before = groups_of(::getpid());
  (void)groups.remove_abandoned();
  EXPECT_THAT(before, Not(SizeIs(0)));
  EXPECT_EQ(groups_of(::getpid()), before);
}

// Who may mount can reach the files of its own group at most, not those of the one that is limited.
TEST(Group, CannotBeRaisedFromInside) {
  const ControlGroups groups = ControlGroups::of_this_process();
  if (!groups.has(Controller::Memory)) GTEST_SKIP() << groups.why_not();
  Draft nested;
  nested.allow_nested_namespaces = true;
  const SpecBuilder raise = sandboxed({misbehave("raise_limit")}).overlay(nested);
  if (groups.version() == 1) {  // somebody who is in the limited group itself, and not inside
    const ControlGroup group = groups.make({.memory_bytes = 40 * kMegabyte}).value();
    std::string join;
    for (const std::string& made : groups_of(::getpid()))
      join += "echo 0 >" + made + "/cgroup.procs && ";
    join += "exec ";
    EXPECT_EQ(run_plainly({"sh", "-c", join + in_shell("raise_limit")}).text, "raised\nused\n");
  }
  // Of version 2 the group that it can reach has no such file; root can mount none.
  if (groups.version() == 2 || is_root()) {
    EXPECT_THAT(
        run(SpecBuilder(raise).limits({.memory_bytes = 40 * kMegabyte})).standard_output.text,
        HasSubstr("denied"));
    return;
  }
  EXPECT_THAT(
      run(SpecBuilder(raise).limits({.memory_bytes = 400 * kMegabyte})).standard_output.text,
      HasSubstr("used"));
  const Outcome outcome = run(SpecBuilder(raise).limits({.memory_bytes = 40 * kMegabyte}));
  EXPECT_EQ(outcome.standard_output.text, "raised\n");  // and it did not help
  EXPECT_THAT(outcome.ending, is_over("memory", 40 * kMegabyte));
  EXPECT_THAT(groups_of(::getpid()), SizeIs(0));
  // Without nested namespaces it does not come that far.
  EXPECT_THAT(run(sandboxed({misbehave("raise_limit")}).limits({.memory_bytes = 40 * kMegabyte}))
                  .standard_output.text,
              HasSubstr("denied"));
}

TEST(Group, IsNotKnownInside) {
  const ControlGroups groups = ControlGroups::of_this_process();
  if (!groups.has(Controller::Memory)) GTEST_SKIP() << groups.why_not();
  const std::string seen =
      output_of(shell("cat /proc/self/cgroup").limits({.memory_bytes = 400 * kMegabyte}));
  EXPECT_THAT(seen, Not(HasSubstr("hermetic-")));
}

}  // namespace
}  // namespace hermetic
