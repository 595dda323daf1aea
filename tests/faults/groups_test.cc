// A run with limits: whatever fails while its control group is made or left, and wherever the
// supervisor is killed, no group stays but for the next run to remove.
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>

#include "hermetic/monitor/control_group.h"
#include "tests/faults/sweep.h"

namespace hermetic {
namespace {

// Groups of the test's own, in which the groups of its runs are made: nobody else's are seen there.
class Around {
 public:
  Around() {
    for (const std::string& place : ControlGroups::of_this_process().places()) {
      folders_.push_back(place + "/hermetic-faults-" + std::to_string(::getpid()));
      if (::mkdir(folders_.back().c_str(), 0755) != 0) folders_.pop_back();
    }
  }
  Around(const Around&) = delete;
  Around& operator=(const Around&) = delete;
  ~Around() {
    for (const std::string& folder : folders_)
      for (int i = 0; i < 200 && ::rmdir(folder.c_str()) != 0 && errno == EBUSY; ++i)
        ::usleep(10'000);
  }

  void enter() const {
    for (const std::string& folder : folders_) {
      const UniqueFd door(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      if (::write(door.get(), "0", 1) != 1) ::_exit(1);
    }
  }
  [[nodiscard]] Words inside() const {
    Words found;
    for (const std::string& folder : folders_)
      for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_directory()) found.push_back(entry.path());
    return found;
  }

 private:
  Words folders_;
};

std::function<std::string()> limited_run(const Around& around, const Spec& spec) {
  return [&around, &spec]() -> std::string {
    around.enter();
    Audience events;
    begin_counting();
    const Result<Finished> finished = [&]() -> Result<Finished> {
      LinuxBackend backend = TRY(LinuxBackend::make());
      return execute(spec, backend, captured(), events);
    }();
    end_counting();
    return finished ? "ended" : "error " + finished.error().message;
  };
}

class GroupsAfter : public ::testing::Test {
 protected:
  void SetUp() override {
    const ControlGroups groups = ControlGroups::of_this_process();
    if (!groups.has(Controller::Memory)) GTEST_SKIP() << groups.why_not();
    if (groups.version() == 2) GTEST_SKIP() << "a group with processes has no groups below it";
    spec = shell("true")
               .limits({.memory_bytes = std::uint64_t{400} << 20U,
                        .cpu_time = std::chrono::hours(1),
                        .processes = 50})
               .build()
               .value();
    act = limited_run(around, *spec);
    usual = run_traced(act, {}, Record::Calls);
    ASSERT_EQ(usual.said, "ended");
  }

  Around around;
  std::optional<Spec> spec;
  std::function<std::string()> act;
  Traced usual;
};

TEST_F(GroupsAfter, AFaultAreGone) {
  std::size_t tried = 0;
  const std::vector<long>& calls = usual.calls.at(Role::Supervisor);
  for (const int error : {EPERM, ENOSPC}) {
    for (std::size_t number = 0; number < calls.size(); number += 2 * kSlowness) {
      if (!can_fail(calls[number])) continue;
      const Traced traced = run_traced(act, {Role::Supervisor, number, error}, Record::Nothing);
      ASSERT_FALSE(traced.hung) << number;
      // That the group cannot be removed is nobody's mistake but that of the call that says so.
      const bool removing = traced.system_call == SYS_rmdir || traced.system_call == SYS_unlinkat;
      if (removing) {
        for (int i = 0; i < 50 && !around.inside().empty(); ++i)  // the next run clears up
          EXPECT_EQ(run_traced(act, {}, Record::Calls).said, "ended");
        EXPECT_THAT(around.inside(), ::testing::SizeIs(0)) << "of an earlier run, " << number;
      } else {
        EXPECT_THAT(around.inside(), ::testing::SizeIs(0))
            << "call " << traced.system_call << ", number " << number << ": " << traced.said;
      }
      tried += traced.reached ? 1 : 0;
    }
  }
  EXPECT_GT(tried, 40U / kSlowness);
  EXPECT_EQ(run_traced(act, {}, Record::Calls).said, "ended");
  EXPECT_THAT(around.inside(), ::testing::SizeIs(0));
}

TEST_F(GroupsAfter, AKillAreRemovedByTheNextRun) {
  std::size_t left = 0;
  const std::vector<long>& calls = usual.calls.at(Role::Supervisor);
  for (std::size_t number = 0; number < calls.size(); number += 3 * kSlowness) {
    const Traced traced = run_traced(act, {Role::Supervisor, number, kKill}, Record::Nothing);
    ASSERT_FALSE(traced.hung) << number;
    left += around.inside().empty() ? 0 : 1;
    // The processes of the killed one may need a moment to leave.
    for (int i = 0; i < 50; ++i) {
      ASSERT_EQ(run_traced(act, {}, Record::Calls).said, "ended");
      if (around.inside().empty()) break;
      ::usleep(10'000);
    }
    EXPECT_THAT(around.inside(), ::testing::SizeIs(0)) << number;
  }
  EXPECT_GT(left, 5U / kSlowness);  // or this has shown nothing
}

}  // namespace
}  // namespace hermetic
