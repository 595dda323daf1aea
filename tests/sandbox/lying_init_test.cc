// Init is inside, with the command: hermetic does not believe everything that it says.
#include <sys/mman.h>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/linux_run.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

// In memory, as the real one is: no rule about files keeps it from being executed.
UniqueFd in_memory(const std::string& path) {
  UniqueFd memory(::memfd_create("lying_init", MFD_CLOEXEC));
  const std::string bytes = content_of(path);
  EXPECT_EQ(::write(memory.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  // Nobody may have it open to write when it is executed.
  return UniqueFd(
      ::open(("/proc/self/fd/" + std::to_string(memory.get())).c_str(), O_RDONLY | O_CLOEXEC));
}

enum class Watching { Wanted, NotWanted };

// The ending of a run whose init is lying_init; NotStarted if the lie came before the start.
Ending ending_with(const std::string& lie, const std::string& output,
                   Watching listener = Watching::NotWanted) {
  const UniqueFd init = in_memory(misbehave("lying_init"));
  EXPECT_TRUE(init.is_open());
  const SpecBuilder builder = sandboxed({"lying_init", lie}).output(output);
  LinuxBackend backend = LinuxBackend::make().value();
  Capabilities capabilities = backend.probe();
  if (listener == Watching::NotWanted) capabilities.clauses.erase(Clause::NetworkWatched);
  const Plan plan = make_plan(builder.build().value(), capabilities).value();
  Audience events;
  linux_backend::Facts facts =
      linux_backend::gather_facts(linux_backend::landlock_abi_of_this_kernel(),
                                  !linux_backend::has_new_mount_calls())
          .value();
  auto run =
      linux_backend::start_run(plan, std::move(facts), {.init = init.get()}, captured(), events);
  if (!run) return NotStarted{run.error().os_error};
  const Result<Outcome> outcome = (*run)->wait();
  EXPECT_TRUE(outcome) << to_string(outcome.error());
  return outcome ? outcome->ending : Ending(NotStarted{-1});
}

TEST(TruthfulInit, IsBelieved) {  // the control of what follows
  const TempDir dir;
  EXPECT_EQ(ending_with("nothing", dir / "out"), Ending(Exited{0}));
  EXPECT_TRUE(exists(dir / "out"));
}

// Nothing starts unwatched that is to be watched.
TEST(InitWithoutListener, IsNotBelieved) {
  const TempDir dir;
  EXPECT_EQ(ending_with("nothing", dir / "out", Watching::Wanted), Ending(NotStarted{ECONNRESET}));
  EXPECT_EQ(ending_with("observer", dir / "out", Watching::Wanted), Ending(NotStarted{ECONNRESET}))
      << "the descriptor is of something else";
  EXPECT_FALSE(exists(dir / "out"));
}

class LyingInit : public ::testing::TestWithParam<const char*> {
 protected:
  const TempDir dir;
};

class LyingInitAtFirst : public LyingInit {};
INSTANTIATE_TEST_SUITE_P(Of, LyingInitAtFirst,
                         ::testing::Values("unknown", "ended_before_it_started", "terminal",
                                           "observer", "observer_without_descriptor", "descriptor",
                                           "short", "long"));
TEST_P(LyingInitAtFirst, StartsNothing) {
  EXPECT_EQ(ending_with(GetParam(), dir / "out"), Ending(NotStarted{ECONNRESET}));
  EXPECT_FALSE(exists(dir / "out"));
}

class LyingInitLater : public LyingInit {};
INSTANTIATE_TEST_SUITE_P(Of, LyingInitLater,
                         ::testing::Values("started_twice", "failed_after_it_started", "stopped",
                                           "no_such_usage"));
TEST_P(LyingInitLater, EndsTheRunAndPublishesNothing) {
  EXPECT_EQ(ending_with(GetParam(), dir / "out"), Ending(Signaled{SIGKILL}));
  EXPECT_FALSE(exists(dir / "out"));
}

}  // namespace
}  // namespace hermetic
