#include "hermetic/gate/revision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/spec/temp_dir.h"

namespace hermetic::gate {
namespace {

const std::string kCommit = "0123456789abcdef0123456789abcdef01234567";

TEST(Revision, OfABranch) {
  const TempDir temp;
  temp.directory(".git/objects");
  temp.directory("main/.git/objects");
  temp.file(".git/HEAD", "ref: refs/heads/main\n");
  EXPECT_FALSE(revision_of(temp.path()));  // no commit yet
  temp.file(".git/refs/heads/main", kCommit + "\n");
  EXPECT_EQ(revision_of(temp.path()).value(), kCommit);
}

TEST(Revision, OfADetachedHead) {
  const TempDir temp;
  temp.directory(".git/objects");
  temp.directory("main/.git/objects");
  temp.file(".git/HEAD", kCommit + "\n");
  EXPECT_EQ(revision_of(temp.path()).value(), kCommit);
  temp.file(".git/HEAD", kCommit + kCommit.substr(0, 24) + "\n");  // SHA-256
  EXPECT_EQ(revision_of(temp.path()).value().size(), 64U);
}

TEST(Revision, OfPackedReferences) {
  const TempDir temp;
  temp.directory(".git/objects");
  temp.directory("main/.git/objects");
  const std::string other(40, 'f');
  temp.file(".git/HEAD", "ref: refs/heads/main\n");
  temp.file(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" + other +
                                    " refs/heads/mainly\n" + kCommit + " refs/heads/main\n^" +
                                    other + "\n");
  EXPECT_EQ(revision_of(temp.path()).value(), kCommit);
  temp.file(".git/refs/heads/main", other + "\n");  // newer than what was packed
  EXPECT_EQ(revision_of(temp.path()).value(), other);
}

TEST(Revision, OfAWorktree) {
  const TempDir temp;
  temp.directory(".git/objects");
  temp.directory("main/.git/objects");
  temp.file("main/.git/refs/heads/side", kCommit + "\n");
  temp.file("main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  temp.file("main/.git/worktrees/side/commondir", "../..\n");
  temp.file("absolute/.git", "gitdir: " + (temp / "main/.git/worktrees/side") + "\n");
  temp.file("relative/.git", "gitdir: ../main/.git/worktrees/side\n");
  EXPECT_EQ(revision_of(temp / "absolute").value(), kCommit);
  EXPECT_EQ(revision_of(temp / "relative").value(), kCommit);
}

TEST(Revision, OfWhatIsNoCheckout) {
  const TempDir temp;
  temp.directory(".git/objects");
  temp.directory("main/.git/objects");
  EXPECT_FALSE(revision_of(temp.path()));
  EXPECT_FALSE(revision_of("/no/such/place"));
  for (const std::string& head :
       {std::string(), std::string("main\n"), std::string("ref: refs/../../secret\n"),
        kCommit.substr(1) + "\n", std::string(40, 'G') + "\n"}) {
    temp.file(".git/HEAD", head);
    temp.file("secret", kCommit + "\n");
    EXPECT_FALSE(revision_of(temp.path())) << head;
  }
}

TEST(Revision, NamesAFolder) {
  for (const std::string& good : {kCommit, std::string("v1.2-rc_3"), std::string(128, 'a')})
    EXPECT_TRUE(check_revision(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string(".."), std::string(".x"), std::string("a/b"), std::string("a b"),
        std::string("a\nb"), std::string("$(x)"), std::string(129, 'a')})
    EXPECT_FALSE(check_revision(bad)) << bad;
}

}  // namespace
}  // namespace hermetic::gate
