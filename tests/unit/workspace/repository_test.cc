#include "hermetic/workspace/repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/unit/spec/sanitizer.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";
const std::string kOther(40, 'f');

class Repositories : public ::testing::Test {
 protected:
  void repository(const std::string& git, const std::string& head) const {
    dir.directory(git + "/objects");
    dir.file(git + "/HEAD", head + "\n");
  }
  [[nodiscard]] std::string head(const std::string& name) const {
    const Result<Repository> found = find_repository(dir / name);
    if (!found) return found.error().message;
    const Result<std::string> commit = head_of(*found);
    return commit ? *commit : commit.error().message;
  }
  const TempDir dir;
};

TEST_F(Repositories, WithAWorktree) {
  repository("r/.git", "ref: refs/heads/main");
  dir.file("r/.git/refs/heads/main", kCommit + "\n");
  const Repository found = find_repository(dir / "r").value();
  EXPECT_EQ(found.git, dir / "r/.git");
  EXPECT_EQ(found.common, dir / "r/.git");
  EXPECT_THAT(found.objects, IsEmpty());
  EXPECT_EQ(head("r"), kCommit);
}

TEST_F(Repositories, WithoutAWorktree) {
  repository("bare", kCommit);
  EXPECT_EQ(find_repository(dir / "bare").value().git, dir / "bare");
  EXPECT_EQ(head("bare"), kCommit);
}

TEST_F(Repositories, OfALinkedWorktree) {
  repository("r/.git", "ref: refs/heads/main");
  dir.file("r/.git/refs/heads/side", kCommit + "\n");
  dir.file("r/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  dir.file("r/.git/worktrees/side/commondir", "../..\n");
  dir.file("side/.git", "gitdir: " + (dir / "r/.git/worktrees/side") + "\n");
  const Repository found = find_repository(dir / "side").value();
  EXPECT_EQ(found.git, dir / "r/.git/worktrees/side");
  EXPECT_EQ(found.common, dir / "r/.git");
  EXPECT_EQ(head("side"), kCommit);
}

TEST_F(Repositories, OfASubmodule) {
  repository("r/.git/modules/sub", kCommit);
  dir.file("r/sub/.git", "gitdir: ../.git/modules/sub\n");
  EXPECT_EQ(find_repository(dir / "r/sub").value().common, dir / "r/.git/modules/sub");
  EXPECT_EQ(head("r/sub"), kCommit);
}

TEST_F(Repositories, HaveSubmodulesInTheirWorktree) {
  repository("r/.git", kCommit);
  dir.file("r/.gitmodules", R"([submodule "a"]
  path = a dir/sub/
	path="quoted"
  path = ../outside
  path = /absolute
  path = .
  path = linked
  path = a dir/../quoted
  path = odd\tname
  path = missing
  path = file
  url = quoted
)");
  for (const char* sub : {"r/a dir/sub", "r/a dir/sub/inner", "r/quoted", "outside", "elsewhere"})
    repository(std::string(sub) + "/.git", kCommit);
  dir.file("r/a dir/sub/.gitmodules", "path = inner\n");
  dir.file("r/file/.git", "gitdir: ../.git/modules/file\n");
  dir.link("r/linked", dir / "elsewhere");
  EXPECT_THAT(inner_submodules(find_repository(dir / "r").value()),
              ElementsAre("a dir/sub", "a dir/sub/inner", "quoted"));
}

TEST_F(Repositories, AreLookedAtOnceForSubmodulesHoweverOftenTheyAreNamed) {
  repository("r/.git", kCommit);
  constexpr int kDeep = 30;
  std::string place = "r";
  for (int i = 0; i < kDeep; ++i, place += "/d") {
    std::string all;
    for (std::string path = "d"; path.size() < std::size_t{2} * kDeep; path += "/d")
      all += "path = " + path + "\npath = " + path + "\n";
    dir.directory(place);
    dir.file(place + "/.gitmodules", all);
  }
  EXPECT_THAT(inner_submodules(find_repository(dir / "r").value()), IsEmpty());
}

// A few kilobytes of a repository make as many lines as one likes, in as many directories.
TEST_F(Repositories, FillNoMemoryWithTheNamesOfSubmodules) {
  repository("r/.git", kCommit);
  constexpr int kLines = 400'000;
  constexpr int kDeep = 16;
  constexpr long kMostKilobytes = 180'000;
  std::string all;
  for (int i = 0; i < kLines; ++i) all += "path=a\n";
  std::string place = "r";
  for (int i = 0; i < kDeep; ++i, place += "/a") {
    dir.directory(place);
    dir.file(place + "/.gitmodules", all);
  }
  rusage before = {};
  rusage after = {};
  ::getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(inner_submodules(find_repository(dir / "r").value()), IsEmpty());
  ::getrusage(RUSAGE_SELF, &after);
  if (kHasSanitizer) GTEST_SKIP() << "it keeps what is given back";
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kMostKilobytes);
}

TEST_F(Repositories, HaveRealPaths) {
  repository("real/.git", kCommit);
  dir.link("linked", dir / "real");
  EXPECT_EQ(find_repository(dir / "linked").value().git, dir / "real/.git");
  dir.link("apart/.git", dir / "real/.git");
  EXPECT_EQ(find_repository(dir / "apart").value().git, dir / "real/.git");
}

TEST_F(Repositories, BorrowObjects) {
  repository("r/.git", kCommit);
  repository("a", kCommit);
  repository("b", kCommit);
  dir.file("r/.git/objects/info/alternates", dir / "a/objects" + "\n/no/such/place\n");
  dir.file("a/objects/info/alternates", "../../b/objects\n");
  dir.file("b/objects/info/alternates", dir / "a/objects" + "\n");  // round and round
  EXPECT_THAT(find_repository(dir / "r").value().objects,
              ElementsAre(dir / "a/objects", dir / "b/objects"));
}

TEST_F(Repositories, BorrowFromNoMoreThanSome) {
  repository("r/.git", kCommit);
  std::string many;
  for (int i = 0; i < 100; ++i) many += dir.directory("o" + std::to_string(i)) + "\n";
  dir.file("r/.git/objects/info/alternates", many);
  EXPECT_EQ(find_repository(dir / "r").value().objects.size(), 32U);
}

TEST_F(Repositories, WithPackedReferences) {
  repository("r/.git", "ref: refs/heads/main");
  dir.file("r/.git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" + kOther +
                                     " refs/heads/mainly\n" + kCommit + " refs/heads/main\n^" +
                                     kOther + "\n");
  EXPECT_EQ(head("r"), kCommit);
  dir.file("r/.git/refs/heads/main", kOther + "\n");  // newer than what was packed
  EXPECT_EQ(head("r"), kOther);
}

TEST_F(Repositories, AtNoBranch) {
  repository("r/.git", kCommit);
  EXPECT_EQ(head("r"), kCommit);
  repository("r/.git", kCommit + kCommit.substr(0, 24));  // SHA-256
  EXPECT_EQ(head("r").size(), 64U);
}

TEST_F(Repositories, WithoutACommit) {
  repository("r/.git", "ref: refs/heads/main");
  EXPECT_THAT(head("r"), HasSubstr("is at no commit"));
}

TEST_F(Repositories, ThatAreNone) {
  EXPECT_THAT(head("nothing"), HasSubstr("is no git repository"));
  dir.directory("empty");
  EXPECT_THAT(head("empty"), HasSubstr("is no git repository"));
  dir.file("no-objects/.git/HEAD", kCommit + "\n");
  EXPECT_THAT(head("no-objects"), HasSubstr("is no git repository"));
  dir.file("astray/.git", "gitdir: /no/such/place\n");
  EXPECT_THAT(head("astray"), HasSubstr("is no git repository"));
  repository("other/.git", kCommit);
  dir.file("other/.git/commondir", "/no/such/place\n");
  EXPECT_THAT(head("other"), HasSubstr("is no git repository"));
}

TEST_F(Repositories, AreNotBelievedEverything) {
  dir.file("secret", kCommit + "\n");
  for (const char* text : {"ref: refs/../../../secret", "ref: ../../secret", "main", "",
                           "ref: ", "0123456789ABCDEF0123456789ABCDEF01234567",
                           "0123456789abcdef0123456789abcdef0123456", "ref: /etc/passwd"}) {
    repository("r/.git", text);
    const std::string said = head("r");
    EXPECT_NE(said, kCommit) << text;
    EXPECT_THAT(said, HasSubstr("no ")) << text;
  }
  repository("r/.git", "ref: refs/heads/main");
  dir.file("r/.git/refs/heads/main", "not a commit\n");
  EXPECT_THAT(head("r"), HasSubstr("is at no commit"));
}

TEST(Commits, AreLowerCaseDigits) {
  EXPECT_TRUE(is_commit(kCommit));
  EXPECT_TRUE(is_commit(std::string(64, 'a')));
  for (const std::string& no : {std::string(), std::string(39, 'a'), std::string(41, 'a'),
                                std::string(40, 'g'), std::string(40, 'A'), "-" + kOther.substr(1)})
    EXPECT_FALSE(is_commit(no)) << no;
}

}  // namespace
}  // namespace hermetic
