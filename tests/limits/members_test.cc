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

std::string members_of(const std::string& group) {
  const std::string text = content_of(group + "/cgroup.procs");
  return text == "no such file" ? "" : text;
}

// Somebody in the group who starts the next and ends, again and again: never there when it is
// killed.
void keep_moving() {
  for (int i = 0; i < 20'000; ++i)
    if (::fork() != 0) ::_exit(0);
}

class Members : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!groups_.has(Controller::CpuAccounting)) GTEST_SKIP() << groups_.why_not();
    // Orphans come to us, so that their end is seen.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  // In the group when this returns, with this act.
  static pid_t start(const ControlGroup& group, const std::function<void()>& act) {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
      for (const UniqueFd& door : group.doors())
        if (::write(door.get(), "0", 1) != 1) ::_exit(3);
      writer.reset();
      ::close(ends[0]);
      act();
      ::_exit(0);
    }
    writer.reset();
    char end = 0;
    EXPECT_EQ(::read(reader.get(), &end, 1), 0);
    return child;
  }

  // Waited for, if it was killed; and killed, if not.
  static bool was_killed(pid_t child) {
    int status = 0;
    const bool ended = soon([&] { return ::waitpid(child, &status, WNOHANG) == child; });
    if (!ended) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    return ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  const ControlGroups groups_ = ControlGroups::of_this_process();
};

TEST_F(Members, AreEndedWhateverTheyDo) {
  const ControlGroup group = groups_.make({.count_cpu_time = true}).value();
  const std::vector<pid_t> children = {start(group, [] { ::sleep(60); }),
                                       start(group, [] { ::raise(SIGSTOP); }), start(group, [] {
                                         std::signal(SIGTERM, SIG_IGN);
                                         ::setsid();
                                         ::sleep(60);
                                       })};
  for (int i = 0; i < 8; ++i) (void)start(group, keep_moving);
  group.end_members();
  for (const pid_t child : children) EXPECT_TRUE(was_killed(child));
  const std::vector<std::string> folders = groups_of(::getpid());
  ASSERT_FALSE(folders.empty());
  EXPECT_TRUE(soon([&] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return std::all_of(folders.begin(), folders.end(),
                       [](const std::string& folder) { return members_of(folder).empty(); });
  }));
}

TEST_F(Members, OfAGroupThatGoesAreEnded) {
  std::optional<ControlGroup> group = groups_.make({.count_cpu_time = true}).value();
  const pid_t child = start(*group, [] { ::sleep(60); });
  group.reset();
  EXPECT_TRUE(was_killed(child));
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
