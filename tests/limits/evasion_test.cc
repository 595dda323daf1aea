// Ways around a limit, and to wrong numbers, that the kernel leaves open: each with its control.
#include <fcntl.h>
#include <sys/mman.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hermetic/monitor/control_group.h"
#include "tests/limits/groups_of.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::StartsWith;
using ::testing::VariantWith;

SpecBuilder evader(Words words) {
  words.insert(words.begin(), misbehave("evade_limit"));
  return sandboxed(std::move(words));
}

// Limits that are only observed on this host are given up.
SpecBuilder limited(SpecBuilder builder, const ResourceLimits& limits) {
  Draft draft;
  for (const auto& [clause, capability] : LinuxBackend::make().value().probe().clauses)
    if (capability.strength == Strength::Observed)
      draft.give_up.insert(std::string(to_string(clause)));
  return builder.limits(limits).overlay(draft);
}

bool has_group_for(Controller controller) {
  return ControlGroups::of_this_process().has(controller);
}

// Who is asked to end gets time for that, and no more of anything else than before.
TEST(Grace, HasTheSameLimits) {
  RunOptions options = captured();
  options.grace = 20s;
  const SpecBuilder late = evader({"spin-late", "4", "900"});
  const Outcome outcome = run(limited(late, {.cpu_time = 400ms, .wall_time = 200ms}), options);
  EXPECT_EQ(outcome.ending, Ending(TimedOut{200ms}));
  EXPECT_LT(outcome.usage.cpu_time(), 2s);
  // Without the limit it computes to its end.
  const Outcome control = run(SpecBuilder(late).limits({.wall_time = 200ms}), options);
  EXPECT_GE(control.usage.cpu_time(), 3s);
}

// A caller that asks often does not keep the run from being looked at.
TEST(Snapshots, DoNotPutOffTheLooks) {
  const Spec spec =
      limited(sandboxed({misbehave("use_up"), "spin", "4", "2000"}), {.cpu_time = 300ms})
          .build()
          .value();
  LinuxBackend linux = LinuxBackend::make().value();
  const Plan plan = make_plan(spec, linux.probe()).value();
  Audience events;
  const std::unique_ptr<hermetic::Run> run = linux.start(plan, captured(), events).value();
  std::atomic<bool> over = false;
  std::thread watcher([&] {
    while (!over) {
      (void)run->snapshot();
      std::this_thread::sleep_for(5ms);
    }
  });
  const Outcome outcome = run->wait().value();
  over = true;
  watcher.join();
  EXPECT_THAT(outcome.ending, VariantWith<OverLimit>(testing::_));
  EXPECT_LT(outcome.usage.cpu_time(), 2s);  // of the eight that it meant to take
}

TEST(IdleTime, IsNotCountedWhileProcessesThatNobodyWaitsForCompute) {
  const SpecBuilder busy = evader({"spin-in-turns", "2", "1500"});
  EXPECT_TRUE(run(SpecBuilder(busy).limits({.idle_time = 1s})).success());
}

// However large the numbers are that the command makes of them.
TEST(Ending, IsTheCommandsOwnWhateverItHasWritten) {
  const Outcome outcome = run(evader({"write-to-nobody", "4300000"}));  // more than 2^53 bytes
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  EXPECT_GE(outcome.usage.transfers.written_bytes, std::uint64_t{1} << 53U);
}

TEST(MemoryLimit, HoldsForSocketsToo) {
  if (!has_group_for(Controller::Memory)) GTEST_SKIP() << "no control group is ours here";
  const SpecBuilder fill =
      evader({"sockets", "60"}).network({.mode = NetworkPolicy::Mode::Loopback});
  EXPECT_GE(std::stoi(output_of(fill)), 60);
  const Outcome outcome = run(SpecBuilder(fill).limits({.memory_bytes = 20 * kMegabyte}));
  // Version 2 ends it, version 1 lets it have no more.
  if (outcome.success()) {
    EXPECT_LE(std::stoi(outcome.standard_output.text), 40);
  }
}

TEST(MemoryLimit, HoldsForHugePages) {
  for (const char* by : {"mmap", "memfd"}) {
    SCOPED_TRACE(by);
    EXPECT_EQ(run_plainly({misbehave("evade_limit"), "huge-pages", by}).text, "succeeded\n");
    EXPECT_THAT(run(evader({"huge-pages", by})).standard_output.text, StartsWith("denied"));
  }
}

// Init, which counts and which ends the run, is as it was.
TEST(Init, IsNotTheCommandsToChange) {
  for (const char* what : {"limit", "class", "parameters", "attributes", "nice", "nice-of-user",
                           "disk", "disk-of-user"}) {
    SCOPED_TRACE(what);
    // The first process of a namespace of its own: some of these mean everybody there.
    EXPECT_EQ(run_plainly({"unshare", "--map-root-user", "--pid", "--fork",
                           misbehave("evade_limit"), "change", "1", what})
                  .text,
              "succeeded\n");
    EXPECT_THAT(run(evader({"change", "1", what})).standard_output.text, StartsWith("denied"));
  }
  // Its own processes are.
  EXPECT_EQ(output_of(shell("exec " + in_shell("evade_limit") + " change $$ nice")), "succeeded\n");
}

// The memory of the caller, which a child shares before it is a sandbox, is not the command's.
TEST(PeakMemory, OfAKilledRunIsNotThatOfItsCaller) {
  constexpr std::size_t kSize = 200 * kMegabyte;
  void* const block =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kSize);
  const Spec spec = shell("sleep 600").build().value();
  LinuxBackend linux = LinuxBackend::make().value();
  Audience events;
  const Plan plan = make_plan(spec, linux.probe()).value();
  const std::unique_ptr<hermetic::Run> run = linux.start(plan, captured(), events).value();
  run->kill();
  const Outcome outcome = run->wait().value();
  ::munmap(block, kSize);
  EXPECT_EQ(outcome.ending, Ending(Signaled{SIGKILL}));
  EXPECT_LT(outcome.usage.peak_memory_bytes, 100 * kMegabyte);
}

// The group that this process is in, of version 2 or of the memory's.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  const bool unified = ControlGroups::of_this_process().version() == 2;
  for (std::string line; std::getline(file, line);) {
    const std::size_t place = line.find(unified ? "0::" : ":memory:");
    if (place == std::string::npos) continue;
    return (unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory") +
           line.substr(line.rfind(':') + 1);
  }
  return "";
}

// Who may mount, and is the owner of the files as root or as one who was given groups, does not get
// at those of the caller.
TEST(Group, OfTheCallerIsOutOfReach) {
  if (!has_group_for(Controller::CpuAccounting)) GTEST_SKIP() << "no control group is ours here";
  const std::string name = "hermetic-test-" + std::to_string(::getpid());
  const std::string made = own_group() + "/" + name;
  const Words act = {misbehave("evade_limit"), "make-group", name};
  EXPECT_EQ(run_plainly(act).text, "succeeded\n");
  EXPECT_EQ(::rmdir(made.c_str()), 0) << made;
  Draft nested;
  nested.allow_nested_namespaces = true;
  const Outcome outcome = run(sandboxed(act).overlay(nested));
  EXPECT_NE(::rmdir(made.c_str()), 0) << made << ", " << outcome.standard_output.text;
}

// Runs that start at the same moment clear up after others, and leave each other alone.
TEST(Group, IsMadeByManyAtOnce) {
  const ControlGroups groups = ControlGroups::of_this_process();
  if (!groups.has(Controller::CpuAccounting)) GTEST_SKIP() << groups.why_not();
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 400; ++turn)
        if (!groups.make({.count_cpu_time = true})) ++failed;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace hermetic
