// Who is in a control group when it is to go: everybody is ended, and nobody else.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "hermetic/monitor/group_members.h"
#include "tests/limits/groups_of.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20U;

std::string members_of(const std::string& group) {
  const std::string text = content_of(group + "/cgroup.procs");
  return text == "no such file" ? "" : text;
}

// Somebody in the group who starts the next and ends, a thousand times: never there when asked for.
void keep_moving() {
  for (int i = 0; i < 1000; ++i) {
    if (::fork() != 0) ::_exit(0);
    ::usleep(2000);
  }
}

class Members : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!groups_.has(Controller::CpuAccounting)) GTEST_SKIP() << groups_.why_not();
    // Orphans come to us, so that their end is seen.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  // In the group, with this act.
  static void start(const ControlGroup& group, const std::function<void()>& act) {
    const pid_t child = ::fork();
    if (child != 0) return;
    for (const UniqueFd& door : group.doors())
      if (::write(door.get(), "0", 1) != 1) ::_exit(3);
    act();
    ::_exit(0);
  }

  const ControlGroups groups_ = ControlGroups::of_this_process();
};

TEST_F(Members, AreEndedWhateverTheyDo) {
  const ControlGroup group = groups_.make({.count_cpu_time = true}).value();
  start(group, [] { ::sleep(60); });
  start(group, [] { ::raise(SIGSTOP); });
  start(group, [] {
    std::signal(SIGTERM, SIG_IGN);
    ::setsid();
    ::sleep(60);
  });
  start(group, keep_moving);
  const std::vector<std::string> folders = groups_of(::getpid());
  ASSERT_FALSE(folders.empty());
  const auto everybody = [&] {
    const std::string text = members_of(folders.front());
    return std::count(text.begin(), text.end(), '\n');
  };
  ASSERT_TRUE(soon([&] { return everybody() >= 4; }));
  group.end_members();
  int killed = 0;
  for (int status = 0; ::waitpid(-1, &status, 0) > 0;)
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++killed;
  EXPECT_GE(killed, 4);
  for (const std::string& folder : folders) EXPECT_EQ(members_of(folder), "");
}

TEST_F(Members, OfAGroupThatGoesAreEnded) {
  std::optional<ControlGroup> group = groups_.make({.count_cpu_time = true}).value();
  start(*group, [] { ::sleep(60); });
  const std::string folder = groups_of(::getpid()).front();
  ASSERT_TRUE(soon([&] { return !members_of(folder).empty(); }));
  group.reset();
  int status = 0;
  ASSERT_GT(::waitpid(-1, &status, 0), 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(groups_of(::getpid()), IsEmpty());
}

TEST_F(Members, WhoAreElsewhereAreLetBe) {
  const ControlGroup group = groups_.make({.count_cpu_time = true}).value();
  const pid_t other = ::fork();
  if (other == 0) {
    ::pause();
    ::_exit(0);
  }
  group.end_members();
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0);
  ::kill(other, SIGKILL);
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
}

// A run whose supervisor was killed while everybody in it, init too, was stopped: nobody ends by
// themselves. Returns the groups of it.
std::vector<std::string> abandoned_run(bool may_stay) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)try_run(sandboxed({"sleep", "600"})
                      .limits({.memory_bytes = 400 * kMegabyte})
                      .process({.kill_on_parent_exit = !may_stay}));
    ::_exit(1);
  }
  const auto is_running = [&] {
    for (const std::string& group : groups_of(child)) {
      const std::string text = members_of(group);
      if (std::count(text.begin(), text.end(), '\n') == 2) return true;  // init and the command
    }
    return false;
  };
  EXPECT_TRUE(soon(is_running));
  ::usleep(100'000);  // until it is the command's own program
  const std::vector<std::string> groups = groups_of(child);
  std::istringstream members(members_of(groups.front()));
  for (pid_t member = 0; members >> member;) ::kill(member, SIGSTOP);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return groups;
}

TEST_F(Members, OfAKilledSupervisorAreEndedByWhoComesNext) {
  if (!groups_.has(Controller::Memory)) GTEST_SKIP() << groups_.why_not();
  const std::vector<std::string> groups = abandoned_run(false);
  ASSERT_FALSE(groups.empty());
  ::usleep(100'000);
  for (const std::string& group : groups) EXPECT_NE(members_of(group), "") << "they are stopped";
  const std::vector<std::string> removed = groups_.remove_abandoned();
  for (const std::string& group : groups) {
    EXPECT_THAT(removed, ::testing::Contains(group));
    EXPECT_FALSE(exists(group));
  }
}

TEST_F(Members, WhoWereMeantToStayAreLetBe) {
  if (!groups_.has(Controller::Memory)) GTEST_SKIP() << groups_.why_not();
  const std::vector<std::string> groups = abandoned_run(true);
  ASSERT_FALSE(groups.empty());
  for (const std::string& group : groups) EXPECT_THAT(group, EndsWith("-stays"));
  (void)groups_.remove_abandoned();
  for (const std::string& group : groups) EXPECT_NE(members_of(group), "");
  for (const std::string& group : groups) {
    const UniqueFd folder(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    end_members(folder.get());  // they are ours
  }
  EXPECT_TRUE(soon([&] {
    (void)groups_.remove_abandoned();
    return std::none_of(groups.begin(), groups.end(), exists);
  }));
}

}  // namespace
}  // namespace hermetic
