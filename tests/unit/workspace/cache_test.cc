#include "hermetic/workspace/cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "hermetic/base/file_tree.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Caches : public ::testing::Test {
 protected:
  [[nodiscard]] Cache open() const { return Cache::open(dir / "cache").value(); }

  // Makes a tree with one file, and counts.
  [[nodiscard]] Cache::Make maker(const std::string& content = "made") {
    return [this, content](const std::string& place) -> Result<std::string> {
      ++made;
      if (::mkdir((place + "/upper").c_str(), 0755) != 0) return system_error("mkdir", errno);
      std::ofstream(place + "/upper/file") << content;
      return "facts of " + content;
    };
  }
  [[nodiscard]] static std::string content_of(const CachedTree& tree) {
    std::ifstream file(tree.path + "/file");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    return names_in(open_directory(AT_FDCWD, dir / "cache").value().get()).value();
  }
  void make_old(const std::string& lock) const {
    const std::array<timespec, 2> old = {timespec{1, 0}, timespec{1, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (dir / ("cache/" + lock)).c_str(), old.data(), 0), 0);
  }

  void kill_a_maker() const {
    const pid_t child = ::fork();
    if (child == 0) {
      Cache cache = open();
      (void)cache.get("kind", "key", [](const std::string& place) -> Result<std::string> {
        std::ofstream(place + "/half") << "x";
        ::raise(SIGKILL);
        return std::string();
      });
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ASSERT_THAT(names(), ElementsAre("kind-key.lock", "kind-key.making"));
  }

  const TempDir dir;
  std::atomic<int> made = 0;
};

TEST_F(Caches, MakeOnceAndFindAgain) {
  Cache cache = open();
  const CachedTree first = cache.get("kind", "key", maker()).value();
  EXPECT_TRUE(first.made);
  EXPECT_EQ(first.facts, "facts of made");
  EXPECT_EQ(content_of(first), "made");
  const CachedTree again = cache.get("kind", "key", maker("other")).value();
  EXPECT_FALSE(again.made);
  EXPECT_EQ(again.path, first.path);
  Cache other = open();  // as another process would
  const CachedTree found = other.get("kind", "key", maker("other")).value();
  EXPECT_FALSE(found.made);
  EXPECT_EQ(found.facts, "facts of made");
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(cache.get("kind", "key2", maker()).value().made);
  EXPECT_TRUE(cache.get("kind2", "key", maker()).value().made);
  EXPECT_EQ(made, 3);
}

TEST_F(Caches, AreOfTheirOwnerAlone) {
  (void)open();
  struct stat status = {};
  ASSERT_EQ(::stat((dir / "cache").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  for (const mode_t mode : {0770U, 0702U}) {
    ASSERT_EQ(::chmod((dir / "cache").c_str(), mode), 0);
    const Result<Cache> refused = Cache::open(dir / "cache");
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("others can write there"));
    EXPECT_THAT(refused.error().hint, HasSubstr("HERMETIC_CACHE"));
  }
  ASSERT_EQ(::chmod((dir / "cache").c_str(), 0755), 0);
  EXPECT_TRUE(Cache::open(dir / "cache"));
}

TEST_F(Caches, OfSomebodyElseAreRefused) {
  dir.directory("theirs");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((dir / "theirs").c_str(), 65534, 65534), 0);
    EXPECT_FALSE(Cache::open(dir / "theirs"));
  }
  EXPECT_FALSE(Cache::open("/proc/hermetic"));  // nobody can make anything there
  dir.directory("real");
  dir.link("linked", dir / "real");
  EXPECT_FALSE(Cache::open(dir / "linked"));
}

TEST_F(Caches, AreWhereTheVariableSays) {
  ASSERT_EQ(::setenv("HERMETIC_CACHE", (dir / "here//x/").c_str(), 1), 0);
  EXPECT_EQ(Cache::open().value().path(), dir / "here/x");
  ASSERT_EQ(::unsetenv("HERMETIC_CACHE"), 0);
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", (dir / "xdg").c_str(), 1), 0);
  EXPECT_EQ(Cache::open().value().path(), dir / "xdg/hermetic");
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
}

// What lies in it is named to the sandbox, which takes no relative path.
TEST_F(Caches, HaveAnAbsolutePath) {
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  const Result<Cache> cache = Cache::open("relative/cache");
  std::filesystem::current_path(here);
  EXPECT_EQ(cache.value().path(), dir / "relative/cache");
}

TEST_F(Caches, MakeAnewWhatSomebodyHasChanged) {
  const std::string path = open().get("kind", "key", maker()).value().path;
  struct stat before = {};
  ASSERT_EQ(::stat((path + "/file").c_str(), &before), 0);
  std::ofstream(path + "/file") << "evil";
  const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, (path + "/file").c_str(), times.data(), 0), 0);
  Cache later = open();
  const CachedTree again = later.get("kind", "key", maker("anew")).value();
  EXPECT_TRUE(again.made);
  EXPECT_EQ(again.path, path);
  EXPECT_EQ(content_of(again), "anew");
}

TEST_F(Caches, MakeAnewOfWhichOthersSayWhatIsNotSo) {
  { const CachedTree first = open().get("kind", "key", maker()).value(); }
  std::ofstream(dir / "cache/kind-key/facts") << "facts of none";
  Cache later = open();
  const CachedTree again = later.get("kind", "key", maker("anew")).value();
  EXPECT_TRUE(again.made);
  EXPECT_EQ(again.facts, "facts of anew");
  // What was found to be good once stays what it was.
  std::ofstream(dir / "cache/kind-key/facts") << "facts of none";
  EXPECT_EQ(later.get("kind", "key", maker()).value().facts, "facts of anew");
}

TEST_F(Caches, MakeAnewWhatIsUnderTheNameOfAnother) {
  { const CachedTree first = open().get("kind", "key", maker("one")).value(); }
  { const CachedTree other = open().get("kind", "other", maker("two")).value(); }
  std::filesystem::remove_all(dir / "cache/kind-key");
  std::filesystem::rename(dir / "cache/kind-other", dir / "cache/kind-key");
  const CachedTree again = open().get("kind", "key", maker("one")).value();
  EXPECT_TRUE(again.made);
  EXPECT_EQ(content_of(again), "one");
}

TEST_F(Caches, MakeAnewWhatHasLostAPart) {
  const std::map<std::string, std::string> parts = {
      {"a", "seal"}, {"b", "facts"}, {"c", "upper/file"}, {"d", "upper"}};
  for (const auto& [key, part] : parts) {
    { const CachedTree first = open().get("kind", key, maker()).value(); }
    ASSERT_TRUE(remove_tree(AT_FDCWD, dir / ("cache/kind-" + key + "/" + part)));
    Cache later = open();
    const Result<CachedTree> again = later.get("kind", key, maker());
    ASSERT_TRUE(again) << part << ": " << again.error().message;
    EXPECT_TRUE(again->made) << part;
  }
}

TEST_F(Caches, LeaveNothingOfAMakerThatFails) {
  Cache cache = open();
  const Result<CachedTree> failed =
      cache.get("kind", "key", [&](const std::string& place) -> Result<std::string> {
        std::ofstream(place + "/half") << "x";
        return unsupported("not today");
      });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "not today");
  EXPECT_THAT(names(), ElementsAre("kind-key.lock"));
  // One that makes no tree is one that fails.
  EXPECT_FALSE(cache.get("kind", "key", [](const std::string&) -> Result<std::string> {
    return std::string("facts");
  }));
  EXPECT_THAT(names(), ElementsAre("kind-key.lock"));
  EXPECT_TRUE(cache.get("kind", "key", maker()).value().made);
  EXPECT_THAT(names(), ElementsAre("kind-key", "kind-key.lock"));
}

// What was moved there is nowhere else.
TEST_F(Caches, GiveBackWhatTheyCannotKeep) {
  Cache cache = open();
  dir.file("only copy", "work");
  const auto move = [&](const std::string& place) -> Result<std::string> {
    // Without a tree there is nothing to be sealed.
    EXPECT_EQ(::rename((dir / "only copy").c_str(), (place + "/moved").c_str()), 0);
    return std::string("facts");
  };
  const auto move_back = [&](const std::string& place) {
    EXPECT_EQ(::rename((place + "/moved").c_str(), (dir / "only copy").c_str()), 0);
  };
  EXPECT_FALSE(cache.get("kind", "key", move, move_back));
  EXPECT_TRUE(std::filesystem::exists(dir / "only copy"));
  EXPECT_THAT(names(), ElementsAre("kind-key.lock"));
}

TEST_F(Caches, ClearAwayWhatAKilledMakerHasLeft) {
  kill_a_maker();
  Cache cache = open();
  const CachedTree tree = cache.get("kind", "key", maker()).value();
  EXPECT_TRUE(tree.made);
  EXPECT_THAT(names(), ElementsAre("kind-key", "kind-key.lock"));
  EXPECT_THAT(names_in(open_directory(AT_FDCWD, dir / "cache/kind-key").value().get()).value(),
              ElementsAre("facts", "seal", "upper"));
}

TEST_F(Caches, ClearAwayWhatNobodyAsksForAgain) {
  kill_a_maker();
  Cache cache = open();
  const CachedTree other = cache
                               .get("kind", "other",
                                    [&](const std::string& place) {
                                      EXPECT_THAT(open().remove_abandoned().value(),
                                                  ElementsAre(dir / "cache/kind-key.making"));
                                      return maker()(place);
                                    })
                               .value();
  EXPECT_TRUE(other.made) << "what is being made is not cleared away";
  EXPECT_THAT(names(), ElementsAre("kind-key.lock", "kind-other", "kind-other.lock"));
  EXPECT_THAT(cache.remove_abandoned().value(), IsEmpty());
}

TEST_F(Caches, MakeOnceForManyThreads) {
  Cache cache = open();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const Result<CachedTree> tree = cache.get("kind", "key", maker());
      if (tree && content_of(*tree) == "made") ++right;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(made, 1);
}

TEST_F(Caches, MakeOnceForManyProcesses) {
  (void)open();
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      Cache cache = open();
      if (i % 2 == 1) cache.give_up_when([] { return false; });  // waits in another way
      const Result<CachedTree> tree = cache.get("kind", "key", maker());
      ::_exit(tree && content_of(*tree) == "made" ? (tree->made ? 1 : 0) : 2);
    }
    children.push_back(child);
  }
  int makers = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LE(WEXITSTATUS(status), 1);
    makers += WEXITSTATUS(status);
  }
  EXPECT_EQ(makers, 1);
}

TEST_F(Caches, NeedNotBeWaitedFor) {
  Cache cache = open();
  Cache other = open();
  int asked = 0;
  other.give_up_when([&] { return ++asked == 3; });
  const Result<CachedTree> tree = cache.get("kind", "key", [&](const std::string& place) {
    const Result<CachedTree> waited = other.get("kind", "key", maker());
    EXPECT_FALSE(waited);
    return maker()(place);
  });
  ASSERT_TRUE(tree);
  EXPECT_EQ(asked, 3);
}

// As a command can hold it that sees the cache: who can read a file can lock it.
TEST_F(Caches, AreNotWaitedForWithoutEnd) {
  Cache cache = open();
  { const CachedTree tree = cache.get("kind", "key", maker()).value(); }
  const std::string lock = cache.path() + "/kind-key.lock";
  const UniqueFd held(::open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  Cache other = open();
  other.give_up_after(std::chrono::milliseconds(100));
  const Result<CachedTree> waited = other.get("kind", "key", maker());
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().os_error, ETIMEDOUT);
  EXPECT_THAT(to_string(waited.error()), ::testing::HasSubstr(lock));
  ASSERT_EQ(::flock(held.get(), LOCK_UN), 0);
  EXPECT_TRUE(other.get("kind", "key", maker()));
}

// Two want it, one makes it and goes on to use it: the other uses it, too, and does not wait.
TEST_F(Caches, AreSharedWithWhoeverWaitedAndCouldBeStopped) {
  for (int i = 0; i < 20; ++i) {
    Cache cache = open();
    cache.give_up_when([] { return false; });
    std::vector<std::optional<Result<CachedTree>>> trees(2);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < trees.size(); ++k)
      threads.emplace_back(
          [&, k] { trees[k].emplace(cache.get("kind", std::to_string(i), maker())); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(*trees[0] && *trees[1]);
  }
}

TEST_F(Caches, RemoveWhatNobodyHasUsedForLong) {
  Cache cache = open();
  { const CachedTree tree = cache.get("kind", "old", maker()).value(); }
  { const CachedTree tree = cache.get("kind", "new", maker()).value(); }
  const CachedTree used = cache.get("kind", "used", maker()).value();
  make_old("kind-old.lock");
  make_old("kind-used.lock");
  EXPECT_THAT(cache.remove_unused(30).value(), ElementsAre(dir / "cache/kind-old"));
  EXPECT_EQ(content_of(used), "made");
  EXPECT_THAT(cache.remove_unused(30).value(), IsEmpty()) << "it is gone already";
  // It comes back, though this object has looked through it before.
  EXPECT_TRUE(cache.get("kind", "old", maker()).value().made);
  EXPECT_THAT(cache.remove_unused(30).value(), IsEmpty()) << "it was made a moment ago";
  EXPECT_EQ(cache.remove_unused(0).value().size(), 2U) << "but for the one that is in use";
}

TEST_F(Caches, KeepFreshWhatIsUsed) {
  { const CachedTree tree = open().get("kind", "key", maker()).value(); }
  make_old("kind-key.lock");
  { const CachedTree tree = open().get("kind", "key", maker()).value(); }
  EXPECT_THAT(open().remove_unused(1).value(), IsEmpty());
}

}  // namespace
}  // namespace hermetic
