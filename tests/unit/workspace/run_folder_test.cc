#include "hermetic/workspace/run_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "hermetic/base/file_tree.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class RunFolders : public ::testing::Test {
 protected:
  [[nodiscard]] Result<RunFolder> make(const std::string& task = "task") const {
    return RunFolder::make(dir / "scratch", task, dir / "journals");
  }
  [[nodiscard]] std::vector<std::string> names(std::string_view name) const {
    const Result<UniqueFd> directory = open_directory(AT_FDCWD, dir / name);
    return directory ? names_in(directory->get()).value() : std::vector<std::string>{"(none)"};
  }
  [[nodiscard]] bool exists(const std::string& path) const {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0;
  }
  // A run that is killed after it has made its folder and something in it. Returns its path.
  [[nodiscard]] std::string killed_run() const {
    const pid_t child = ::fork();
    if (child == 0) {
      Result<RunFolder> folder = make();
      if (!folder) ::_exit(1);
      const Result<std::string> part = folder->add("worktree");
      if (!part || ::mkdir((*part + "/locked").c_str(), 0) != 0) ::_exit(1);
      if (::symlink((dir / "outside").c_str(), (*part + "/link").c_str()) != 0) ::_exit(1);
      ::raise(SIGKILL);
      ::_exit(1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    const std::vector<std::string> runs = names("scratch/task");
    EXPECT_EQ(runs.size(), 1U);
    return dir / ("scratch/task/" + runs.front());
  }

  const TempDir dir;
};

TEST_F(RunFolders, HaveTheNameThatIsGivenAndNoOtherHasIt) {
  const auto named = [&](const std::string& task) {
    return RunFolder::make(dir / "scratch", task, dir / "journals", "mine");
  };
  Result<RunFolder> folder = named("task");
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->path(), dir / "scratch/task/mine");
  EXPECT_EQ(folder->run(), "mine");
  const Result<RunFolder> second = named("task");
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message,
              HasSubstr("there is a run 'mine' of the task 'task' already"));
  EXPECT_TRUE(named("other").has_value());  // and is gone
  EXPECT_TRUE(exists(folder->path()));
  EXPECT_THAT(names("journals"), testing::SizeIs(1));
  EXPECT_TRUE(folder->remove().left.empty());
  EXPECT_TRUE(named("task").has_value());
  EXPECT_FALSE(RunFolder::make(dir / "scratch", "task", dir / "journals", "../mine").has_value());
  EXPECT_THAT(names("journals"), IsEmpty());
}

TEST_F(RunFolders, OfAGivenNameAreRemovedIfTheirMakerIsKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<RunFolder> folder =
        RunFolder::make(dir / "scratch", "task", dir / "journals", "mine");
    if (folder) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(exists(dir / "scratch/task/mine"));
  EXPECT_THAT(remove_abandoned_runs(dir / "journals").removed, Contains(dir / "scratch/task/mine"));
  EXPECT_FALSE(exists(dir / "scratch"));
  EXPECT_THAT(names("journals"), IsEmpty());
}

TEST_F(RunFolders, EndTheSearchOfGitForARepository) {
  RunFolder folder = make().value();
  EXPECT_THAT(names("scratch/task/" + folder.run()), Contains(".git"));
  struct stat status = {};
  ASSERT_EQ(::lstat((folder.path() + "/.git").c_str(), &status), 0);
  EXPECT_TRUE(S_ISREG(status.st_mode));
}

TEST_F(RunFolders, AreNotRemovedByAChildOfTheirMaker) {
  RunFolder folder = make().value();
  const pid_t child = ::fork();
  if (child == 0) {
    const Certificate nothing = folder.remove();
    { const RunFolder moved = std::move(folder); }  // and is destroyed
    ::_exit(nothing.made.empty() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(exists(folder.path()));
  EXPECT_TRUE(folder.remove().left.empty());
  EXPECT_THAT(names("journals"), IsEmpty());
}

TEST_F(RunFolders, AreMadeUnderANameOfTheirOwn) {
  const Result<RunFolder> folder = make();
  ASSERT_TRUE(folder);
  EXPECT_THAT(folder->run(), MatchesRegex("run_[0-9]+_[0-9a-f]+"));
  EXPECT_EQ(folder->path(), dir / ("scratch/task/" + folder->run()));
  EXPECT_THAT(names("journals"), ElementsAre(folder->run()));
  struct stat status = {};
  ASSERT_EQ(::stat(folder->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U) << "nobody else looks in";
}

TEST_F(RunFolders, CertifyWhatWasMadeAndRemoved) {
  RunFolder folder = make().value();
  const std::string path = folder.path();
  const std::string part = folder.add("part").value();
  EXPECT_EQ(part, path + "/part");
  const TempDir elsewhere;
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), (part + "/link").c_str()), 0);
  elsewhere.file("kept", "x");
  const Certificate certificate = folder.remove();
  const std::string journal = dir / ("journals/" + folder.run());
  EXPECT_THAT(certificate.made, ElementsAre(journal, dir / "scratch", dir / "scratch/task", path,
                                            path + "/.git", part));
  EXPECT_THAT(certificate.removed, ElementsAre(part, path + "/.git", path, dir / "scratch/task",
                                               dir / "scratch", journal));
  EXPECT_THAT(certificate.left, IsEmpty());
  EXPECT_THAT(names("."), ElementsAre("journals"));
  EXPECT_THAT(names("journals"), IsEmpty());
  EXPECT_TRUE(exists(elsewhere / "kept"));
  EXPECT_THAT(folder.remove().made, IsEmpty()) << "once";
}

TEST_F(RunFolders, AreGoneWithTheObject) {
  { const RunFolder folder = make().value(); }
  EXPECT_THAT(names("."), ElementsAre("journals"));
}

TEST_F(RunFolders, LeaveWhatWasThereBefore) {
  dir.file("scratch/task/of-somebody", "x");
  { const RunFolder folder = make().value(); }
  EXPECT_THAT(names("scratch/task"), ElementsAre("of-somebody"));
}

TEST_F(RunFolders, SayWhatTheyCouldNotRemove) {
  if (::geteuid() == 0) GTEST_SKIP() << "root can remove everything";
  RunFolder folder = make().value();
  ASSERT_EQ(::chmod((dir / "scratch/task").c_str(), 0500), 0);
  const Certificate certificate = folder.remove();
  EXPECT_THAT(certificate.left, ElementsAre(HasSubstr("cannot remove")));
  EXPECT_THAT(names("journals"), ElementsAre(folder.run())) << "for whoever comes later";
  { const RunFolder gone = std::move(folder); }  // its lock
  const AbandonedRuns runs = remove_abandoned_runs(dir / "journals");
  EXPECT_THAT(runs.removed, IsEmpty());
  ASSERT_EQ(runs.left.size(), 1U);
  EXPECT_THAT(runs.left.front().why, HasSubstr("cannot remove"));
  ASSERT_EQ(::chmod((dir / "scratch/task").c_str(), 0700), 0);
}

// As a command can leave them; a plain user may not move what is locked.
TEST_F(RunFolders, AreRemovedHoweverDeepAndLockedTheyAre) {
  RunFolder folder = make().value();
  const std::string below = folder.path().substr(dir.path().size() + 1);
  dir.nest(below + "/locked", "d", 700, 0);
  // Names that hermetic itself gives to what it moves up, and a chain that it comes to first.
  dir.file(below + "/taken/.hermetic-deep-0/file", "x");
  dir.file(below + "/taken/.hermetic-deep-1", "x");
  dir.file(below + "/.hermetic-deep-0/file", "x");
  dir.nest(below + "/taken/!", "d", 700);
  dir.nest(below + "/!", "d", 700);
  EXPECT_THAT(folder.remove().left, IsEmpty());
  EXPECT_THAT(names("journals"), IsEmpty());
  EXPECT_THAT(names("."), ElementsAre("journals"));
}

TEST_F(RunFolders, OfOneTaskDoNotMeet) {
  std::vector<std::thread> threads;
  std::set<std::string> paths;
  std::mutex mutex;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 25; ++round) {
        RunFolder folder = make().value();
        (void)folder.add("part").value();
        EXPECT_TRUE(exists(folder.path()));
        const std::lock_guard guard(mutex);
        EXPECT_TRUE(paths.insert(folder.path()).second);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(paths.size(), 100U);
  EXPECT_THAT(names("journals"), IsEmpty());
  EXPECT_THAT(names("."), ElementsAre("journals"));
}

TEST_F(RunFolders, ThatAreInUseAreNotCleared) {
  const RunFolder folder = make().value();
  EXPECT_THAT(remove_abandoned_runs(dir / "journals").removed, IsEmpty());
  EXPECT_TRUE(exists(folder.path()));
  EXPECT_THAT(names("journals"), ElementsAre(folder.run()));
}

TEST_F(RunFolders, OfAKilledRunAreClearedAndNothingElse) {
  dir.file("outside/kept", "x");
  dir.file("scratch/other/kept", "x");
  const std::string path = killed_run();
  ASSERT_TRUE(exists(path + "/worktree/link"));
  EXPECT_THAT(remove_abandoned_runs(dir / "journals").removed,
              ElementsAre(path, dir / "scratch/task"));
  EXPECT_THAT(names("scratch"), ElementsAre("other"));
  EXPECT_TRUE(exists(dir / "scratch/other/kept"));
  EXPECT_TRUE(exists(dir / "outside/kept"));
  EXPECT_THAT(names("journals"), IsEmpty());
  EXPECT_THAT(remove_abandoned_runs(dir / "journals").removed, IsEmpty());
}

TEST_F(RunFolders, ThatAreLinksByNowAreNotFollowed) {
  const std::string path = killed_run();
  const std::string name = path.substr(path.rfind('/') + 1);
  ASSERT_TRUE(remove_tree(AT_FDCWD, path));
  dir.file("precious/" + name + "/kept", "x");
  ASSERT_EQ(::symlink((dir / ("precious/" + name)).c_str(), path.c_str()), 0);
  EXPECT_THAT(remove_abandoned_runs(dir / "journals").removed, IsEmpty());
  EXPECT_TRUE(exists(dir / ("precious/" + name + "/kept")));
  EXPECT_THAT(names("journals"), IsEmpty());
}

// Whoever writes journals is the same user, but may be wrong.
TEST_F(RunFolders, AreNotWhateverAJournalNames) {
  dir.directory("journals");
  dir.file("precious/kept", "x");
  dir.file("run_1_a", "a file");
  dir.file("journals/run_1_b", dir / "precious" + "\n");
  dir.file("journals/run_1_a", dir / "run_1_a" + "\n");
  dir.file("journals/run_1_c", "relative/run_1_c\n");
  dir.directory("precious/run_1_d");
  dir.file("journals/run_1_d", dir / "precious/run_1_d");  // was killed while it wrote this
  dir.file("journals/run_1_e", "");
  dir.file("journals/run_1_f", std::string(10000, 'x') + "\n");
  dir.directory("journals/folder");
  dir.link("journals/link", dir / "precious/kept");
  EXPECT_THAT(remove_abandoned_runs(dir / "journals").removed, IsEmpty());
  EXPECT_THAT(names("precious"), ElementsAre("kept", "run_1_d"));
  EXPECT_TRUE(exists(dir / "run_1_a"));
  EXPECT_THAT(names("journals"), ElementsAre("folder", "link"));
  EXPECT_THAT(remove_abandoned_runs(dir / "nothing").removed, IsEmpty());
}

TEST_F(RunFolders, HaveNamesThatCanBePartOfAPath) {
  for (const char* good : {"t", "T-1.2_x", "fix-0", "-x", "a..b"})
    EXPECT_TRUE(check_task_name(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string(".hidden"),
        std::string("a/b"), std::string("a b"), std::string("a\nb"), std::string("\xc3\xa4"),
        std::string(129, 'a'), std::string("a\0b", 3)}) {
    EXPECT_FALSE(check_task_name(bad)) << bad;
    EXPECT_FALSE(make(bad)) << bad;
  }
  EXPECT_FALSE(exists(dir / "scratch")) << "nothing was made";
}

TEST_F(RunFolders, CannotBeMadeWhereThereIsAFile) {
  dir.file("scratch", "a file");
  EXPECT_FALSE(make());
  EXPECT_THAT(names("journals"), IsEmpty());
}

TEST_F(RunFolders, StartFromTheCurrentDirectory) {
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Result<RunFolder> folder = RunFolder::make("relative", "task", dir / "journals");
  std::filesystem::current_path(here);
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->path(), dir / ("relative/task/" + folder->run()));
}

}  // namespace
}  // namespace hermetic
