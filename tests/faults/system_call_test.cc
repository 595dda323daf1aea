// Every system call of a run fails once, and every process of it is killed at every call: the run
// then succeeds or says why not, and nothing of it is left.
#include <sys/mount.h>
#include <sys/syscall.h>

#include "tests/faults/sweep.h"

namespace hermetic {
namespace {

TEST(FaultsOfTheSupervisor, LeaveNothing) {
  expect_no_complaints([] {
    return complaints_of({}, {{Role::Supervisor, EPERM},
                              {Role::Supervisor, ENOSPC, 4},
                              {Role::Supervisor, EMFILE, 3},
                              {Role::Supervisor, ENOMEM, 5}});
  });
}

// From the moment when the command runs.
class FaultsOfTheSupervisorThat : public ::testing::TestWithParam<Scene::Outputs> {};
INSTANTIATE_TEST_SUITE_P(Publishes, FaultsOfTheSupervisorThat,
                         ::testing::Values(Scene::Outputs::Merged, Scene::Outputs::Carved,
                                           Scene::Outputs::Mounted, Scene::Outputs::Copied,
                                           Scene::Outputs::Made));
TEST_P(FaultsOfTheSupervisorThat, LoseNoOutput) {
  expect_no_complaints([] {
    return complaints_of({.outputs = GetParam()}, {{Role::Supervisor, EPERM, 2, SYS_poll},
                                                   {Role::Supervisor, ENOSPC, 5, SYS_poll},
                                                   {Role::Supervisor, EMFILE, 6, SYS_poll}});
  });
}

TEST(FaultsOfTheSupervisor, LoseNoOutput) {
  expect_no_complaints([] {
    return complaints_of({.outputs = Scene::Outputs::EveryWay},
                         {{Role::Supervisor, EPERM, 7, SYS_poll}});
  });
}

TEST(FaultsOfTheSupervisor, OfAFailedRunThatIsKept) {
  expect_no_complaints([] {
    return complaints_of({.outputs = Scene::Outputs::KeptFailed}, {{Role::Supervisor, EPERM, 3},
                                                                   {Role::Supervisor, EMFILE, 5},
                                                                   {Role::Supervisor, ENOMEM, 7}});
  });
}

TEST(FaultsOfTheSupervisor, OfTheProgram) {
  expect_no_complaints([] {
    return complaints_of({.program = true},
                         {{Role::Supervisor, EPERM, 3}, {Role::Supervisor, EMFILE, 5}});
  });
}

TEST(FaultsOfTheSupervisor, LeaveNothingOfAGuard) {
  expect_no_complaints([] {
    return complaints_of({.hosts = true},
                         {{Role::Supervisor, EPERM, 2}, {Role::Supervisor, EMFILE, 3}});
  });
}

TEST(FaultsOfInit, LeaveNothing) {
  expect_no_complaints([] {
    return complaints_of({},
                         {{Role::Init, EPERM}, {Role::Starter, ENOMEM}, {Role::Child, ENOMEM, 5}});
  });
}

std::function<std::string()> run_of(const SpecBuilder& builder) {
  return [spec = builder.build().value()]() -> std::string {
    Audience events;
    begin_counting();
    LinuxBackend backend = LinuxBackend::make().value();
    const Result<Finished> finished = execute(spec, backend, captured(), events);
    end_counting();
    return finished ? "ended" : finished.error().message;
  };
}

TEST(FaultsOfTheSupervisor, DoNotLeaveItWaitingForWhatItCannotHear) {
  const Traced traced = run_traced(run_of(sandboxed({"sleep", long_sleep()})),
                                   {Role::Supervisor, 0, ENOMEM, SYS_recvmsg}, Record::Nothing);
  EXPECT_TRUE(traced.reached);
  EXPECT_FALSE(traced.hung);
  EXPECT_THAT(traced.said, ::testing::StartsWith("cannot hear from init"));
}

TEST(Killed, TheSupervisorLeavesEachOutputOldOrNew) {
  expect_no_complaints([] { return complaints_of({}, {{Role::Supervisor, kKill}}); });
}

TEST(Killed, TheProgramLeavesEachOutputOldOrNewToo) {
  expect_no_complaints([] {
    return complaints_of({.program = true}, {{Role::Supervisor, kKill, 7}});
  });
}

TEST(Killed, TheChildInitAndTheCommandLeaveNothing) {
  expect_no_complaints([] {
    return complaints_of({}, {{Role::Child, kKill},
                              {Role::Init, kKill},
                              {Role::Starter, kKill},
                              {Role::Command, kKill, 3}});
  });
}

// However far the sandbox has come, and with a command that would never end.
TEST(Killed, NothingOutlivesTheSupervisor) {
  const Traced usual = run_traced(run_of(sandboxed({"true"})), {}, Record::Calls);
  const std::string sleep = long_sleep();
  const auto act = run_of(sandboxed({"sleep", sleep}));
  std::size_t tried = 0;
  for (const Role role : {Role::Child, Role::Init, Role::Starter, Role::Command}) {
    const std::vector<long>& calls = usual.calls.at(role);
    // Then init waits for the end of the command, which does not come. If "true" ended before init
    // looked for the first time, it did not wait but cleared up, beginning with kill().
    constexpr std::array<long, 2> kEnds = {SYS_ppoll, SYS_kill};
    const auto end = std::find_first_of(calls.begin(), calls.end(), kEnds.begin(), kEnds.end());
    const bool waits = end != calls.end() && *end == SYS_ppoll;
    const auto count = static_cast<std::size_t>(end - calls.begin()) + (waits ? 1 : 0);
    for (std::size_t number = 0; number < count; number += role == Role::Child ? 3 : 2) {
      const Fault fault{.role = role, .number = number, .kills_supervisor = true};
      const Traced traced = run_traced(act, fault, Record::Nothing);
      EXPECT_FALSE(traced.hung) << to_string(role) << ", call " << number;
      if (traced.hung) return;
      EXPECT_TRUE(traced.reached);
      EXPECT_TRUE(WIFSIGNALED(traced.status) && WTERMSIG(traced.status) == SIGKILL);
      ++tried;
    }
  }
  EXPECT_GT(tried, 50U);
  EXPECT_EQ(processes_with(sleep), 0);
}

// However young it is.
TEST(Killed, WhatTheSupervisorLeavesIsRemovedByALaterRun) {
  expect_no_complaints([]() -> std::string {
    const TempDir dir;
    if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "mode=0755,size=1m") != 0)
      return "no file system of its own";
    const SpecBuilder builder = shell("echo new >" + dir / "out/new").output(dir / "out");
    const Traced killed =
        run_traced(run_of(builder), {Role::Supervisor, 0, kKill, SYS_poll}, Record::Nothing);
    const Words left = names_of(dir.path());
    if (!killed.reached || left.size() != 1) return ::testing::PrintToString(left);
    if (run_of(builder)() != "ended") return "it does not run any more";
    return exists(dir / left[0]) ? "it stays" : "";
  });
}

}  // namespace
}  // namespace hermetic
