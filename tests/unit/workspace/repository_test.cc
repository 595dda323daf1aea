#include "hermetic/workspace/repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

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
  [[nodiscard]] Result<Repository> find(const std::string& name,
                                        const std::vector<std::string>& borrowed = {}) const {
    NamedRepository named{.path = dir / name};
    for (const std::string& folder : borrowed) named.borrowed.push_back(dir / folder);
    return find_repository(named);
  }
  [[nodiscard]] std::string refusal(const std::string& name,
                                    const std::vector<std::string>& borrowed = {}) const {
    const Result<Repository> found = find(name, borrowed);
    return found ? "found" : found.error().message + "; " + found.error().hint;
  }
  [[nodiscard]] std::string head(const std::string& name,
                                 const std::vector<std::string>& borrowed = {}) const {
    const Result<Repository> found = find(name, borrowed);
    if (!found) return found.error().message;
    const Result<std::string> commit = head_of(*found);
    return commit ? *commit : commit.error().message;
  }
  const TempDir dir;
};

TEST_F(Repositories, WithAWorktree) {
  repository("r/.git", "ref: refs/heads/main");
  dir.file("r/.git/refs/heads/main", kCommit + "\n");
  const Repository found = find("r").value();
  EXPECT_EQ(found.git, dir / "r/.git");
  EXPECT_EQ(found.common, dir / "r/.git");
  EXPECT_THAT(found.objects, IsEmpty());
  EXPECT_EQ(head("r"), kCommit);
}

TEST_F(Repositories, WithoutAWorktree) {
  repository("bare", kCommit);
  EXPECT_EQ(find("bare").value().git, dir / "bare");
  EXPECT_EQ(head("bare"), kCommit);
}

TEST_F(Repositories, OfALinkedWorktree) {
  repository("r/.git", "ref: refs/heads/main");
  dir.file("r/.git/refs/heads/side", kCommit + "\n");
  dir.file("r/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  dir.file("r/.git/worktrees/side/commondir", "../..\n");
  dir.file("side/.git", "gitdir: " + (dir / "r/.git/worktrees/side") + "\n");
  EXPECT_THAT(refusal("side"), HasSubstr("has its folder outside of itself: '" +
                                         (dir / "r/.git/worktrees/side") + "'; if the task"));
  // Its own folder alone is not enough.
  EXPECT_THAT(refusal("side", {"r/.git/worktrees/side"}),
              HasSubstr("has its common folder outside of itself: '" + (dir / "r/.git") + "'"));
  const Repository found = find("side", {"r"}).value();
  EXPECT_EQ(found.git, dir / "r/.git/worktrees/side");
  EXPECT_EQ(found.common, dir / "r/.git");
  EXPECT_EQ(head("side", {"r/.git"}), kCommit);
}

TEST_F(Repositories, OfASubmodule) {
  repository("r/.git/modules/sub", kCommit);
  dir.file("r/sub/.git", "gitdir: ../.git/modules/sub\n");
  EXPECT_THAT(refusal("r/sub"), HasSubstr("has its folder outside of itself"));
  EXPECT_EQ(find("r/sub", {"r"}).value().common, dir / "r/.git/modules/sub");
  EXPECT_EQ(head("r/sub", {"r/.git/modules/sub"}), kCommit);
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
  EXPECT_THAT(inner_submodules(find("r").value()),
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
  EXPECT_THAT(inner_submodules(find("r").value()), IsEmpty());
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
  EXPECT_THAT(inner_submodules(find("r").value()), IsEmpty());
  ::getrusage(RUSAGE_SELF, &after);
  if (kHasSanitizer) GTEST_SKIP() << "it keeps what is given back";
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, kMostKilobytes);
}

TEST_F(Repositories, HaveRealPaths) {
  repository("real/.git", kCommit);
  dir.link("linked", dir / "real");
  EXPECT_EQ(find("linked").value().git, dir / "real/.git");
  dir.link("apart/.git", dir / "real/.git");
  EXPECT_THAT(refusal("apart"), HasSubstr("has its folder outside of itself"));
  EXPECT_EQ(find("apart", {"real"}).value().git, dir / "real/.git");
}

TEST_F(Repositories, BorrowObjects) {
  repository("r/.git", kCommit);
  repository("a", kCommit);
  repository("b", kCommit);
  dir.file("r/.git/objects/info/alternates", dir / "a/objects" + "\n/no/such/place\n");
  dir.file("a/objects/info/alternates", "../../b/objects\n");
  dir.file("b/objects/info/alternates", dir / "a/objects" + "\n");  // round and round
  EXPECT_THAT(refusal("r"), HasSubstr("has objects (alternates) outside of itself: '" +
                                      (dir / "a/objects") + "'"));
  // What is borrowed does not say what else may be.
  EXPECT_THAT(refusal("r", {"a"}), HasSubstr("'" + (dir / "b/objects") + "'"));
  EXPECT_THAT(find("r", {"a", "b"}).value().objects,
              ElementsAre(dir / "a/objects", dir / "b/objects"));
}

TEST_F(Repositories, BorrowFromNoMoreThanSome) {
  repository("r/.git", kCommit);
  std::string many;
  for (int i = 0; i < 100; ++i) many += dir.directory("r/o" + std::to_string(i)) + "\n";
  dir.file("r/.git/objects/info/alternates", many);
  EXPECT_EQ(find("r").value().objects.size(), 32U);
}

TEST_F(Repositories, AreRefusedIfALinkLeadsOutOfThem) {
  repository("other/.git", kOther);
  dir.file("other/.git/packed-refs", kOther + " refs/heads/main\n");
  dir.file("other/.git/refs/heads/main", kOther + "\n");
  const auto expect_refused = [&](const std::string& what) {
    EXPECT_THAT(refusal("r"), HasSubstr("outside of itself: '" + (dir / "other"))) << what;
  };
  dir.file("r/.git/HEAD", kCommit + "\n");
  dir.link("r/.git/objects", dir / "other/.git/objects");
  expect_refused("objects");
  EXPECT_THAT(find("r", {"other"}).value().objects, ElementsAre(dir / "other/.git/objects"));
  std::filesystem::remove(dir / "r/.git/objects");
  dir.directory("r/.git/objects");
  EXPECT_EQ(head("r"), kCommit);  // the control
  dir.link("r/.git/objects/info", dir / "other/.git");
  dir.file("other/.git/alternates", dir / "r\n");
  expect_refused("the list of alternates");
  std::filesystem::remove(dir / "r/.git/objects/info");
  dir.file("r/.git/commondir", dir / "other/.git\n");
  expect_refused("the common folder");
  std::filesystem::remove(dir / "r/.git/commondir");
  std::filesystem::remove(dir / "r/.git/HEAD");
  dir.link("r/.git/HEAD", dir / "other/.git/HEAD");
  expect_refused("HEAD");
}

TEST_F(Repositories, DoNotGetTheirReferencesByALinkOutOfThem) {
  dir.file("secret", kOther + " refs/heads/main\n");
  dir.file("one", kOther + "\n");
  repository("r/.git", "ref: refs/heads/main");
  dir.link("r/.git/packed-refs", dir / "secret");
  EXPECT_THAT(head("r"), HasSubstr("is at no commit"));
  EXPECT_EQ(head("r", {"secret"}), kOther);  // the control
  dir.directory("r/.git/refs/heads");
  dir.link("r/.git/refs/heads/main", dir / "one");
  EXPECT_THAT(head("r"), HasSubstr("is at no commit"));
}

TEST_F(Repositories, OfAGateMayBeALinkedWorktree) {
  repository("r/.git", kCommit);
  dir.file("r/.git/worktrees/side/HEAD", kCommit + "\n");
  dir.file("r/.git/worktrees/side/commondir", "../..\n");
  dir.file("side/.git", "gitdir: " + (dir / "r/.git/worktrees/side") + "\n");
  const Repository found = find_repository({.path = dir / "side"}, Elsewhere::Follow).value();
  EXPECT_EQ(head_of(found).value(), kCommit);
  EXPECT_THAT(found.objects, IsEmpty());
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
