#include "hermetic/workspace/sealed_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "hermetic/base/file_tree.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

class SealedTree : public ::testing::Test {
 protected:
  SealedTree() {
    dir.file("tree/file", "content");
    dir.file("tree/sub/inner", "x");
    dir.link("tree/link", "file");
    dir.directory("tree/empty");
  }
  [[nodiscard]] UniqueFd top() const { return open_directory(AT_FDCWD, dir / "tree").value(); }
  [[nodiscard]] std::string seal() const { return seal_of(top().get()).value(); }
  [[nodiscard]] bool is_sealed_by(const std::string& seal) const {
    return hermetic::is_sealed_by(seal, top().get());
  }
  const TempDir dir;
};

TEST_F(SealedTree, HasOneSealAsLongAsNobodyTouchesIt) {
  const std::string first = seal();
  EXPECT_EQ(seal(), first);
  EXPECT_TRUE(is_sealed_by(first));
  (void)std::ifstream(dir / "tree/file").get();
  EXPECT_TRUE(is_sealed_by(first)) << "reading is no change";
}

// Every part of a seal is needed: half of one would be true of half a tree.
TEST_F(SealedTree, IsNotSealedByPartsOfItsSeal) {
  const std::string whole = seal();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(is_sealed_by(whole.substr(0, size))) << size;
  EXPECT_FALSE(is_sealed_by(whole + '\0'));
  EXPECT_FALSE(is_sealed_by(whole + whole));
  for (std::size_t place = 0; place < whole.size(); ++place) {
    std::string other = whole;
    other[place] = static_cast<char>(other[place] ^ 1);
    EXPECT_FALSE(is_sealed_by(other)) << place;
  }
}

// However deep it is, one descriptor will do.
TEST_F(SealedTree, NeedsNoDescriptorForEachLevel) {
  std::string path = "tree";
  for (int level = 0; level < 200; ++level) path += "/d";
  dir.directory(path);
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const UniqueFd opened = top();
  const Result<std::string> made = seal_of(opened.get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(is_sealed_by(*made));
}

// The writer puts back everything that a writer can put back.
TEST_F(SealedTree, ShowsAWriteThatWasHidden) {
  const std::string first = seal();
  struct stat before = {};
  ASSERT_EQ(::stat((dir / "tree/file").c_str(), &before), 0);
  const UniqueFd file(::open((dir / "tree/file").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "CONTENT", 7, 0), 7);
  const std::array<timespec, 2> times = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::futimens(file.get(), times.data()), 0);
  struct stat after = {};
  ASSERT_EQ(::stat((dir / "tree/file").c_str(), &after), 0);
  ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  ASSERT_EQ(after.st_size, before.st_size);
  EXPECT_FALSE(is_sealed_by(first));
}

TEST_F(SealedTree, ShowsEveryOtherChange) {
  std::string last = seal();
  const auto changed = [&](const char* what) {
    EXPECT_FALSE(is_sealed_by(last)) << what;
    last = seal();
    EXPECT_TRUE(is_sealed_by(last)) << what;
  };
  ASSERT_EQ(::chmod((dir / "tree/file").c_str(), 0700), 0);
  changed("a mode");
  ASSERT_EQ(::rename((dir / "tree/file").c_str(), (dir / "tree/renamed").c_str()), 0);
  changed("a name");
  dir.hard_link("outside", "tree/renamed");
  changed("another name elsewhere, through which it can be written");
  dir.file("tree/empty/new", "");
  changed("something new");
  ASSERT_EQ(::unlink((dir / "tree/empty/new").c_str()), 0);
  changed("something gone");
  dir.file("tree/new", "");
  changed("something new at the top");
  ASSERT_EQ(::unlink((dir / "tree/new").c_str()), 0);
  changed("something gone from the top");
  ASSERT_EQ(::unlink((dir / "tree/link").c_str()), 0);
  dir.link("tree/link", "elsewhere");
  changed("where a link leads");
  ASSERT_EQ(::rename((dir / "tree/sub/inner").c_str(), (dir / "tree/inner").c_str()), 0);
  changed("a file that moved up");
  ASSERT_EQ(::rename((dir / "tree/sub").c_str(), (dir / "sub").c_str()), 0);
  dir.link("tree/sub", dir / "sub");
  changed("a directory that a link to it stands for");
}

// More than one thread looks at a large tree: each of them finds what is its part.
TEST_F(SealedTree, ShowsAChangeAnywhereInALargeTree) {
  constexpr int kFiles = 600;
  for (int i = 0; i < kFiles; ++i) dir.file("tree/f" + std::to_string(i), "");
  for (const char* name : {"f0", "f599", "sub/inner", "empty"}) {
    const std::string first = seal();
    EXPECT_TRUE(is_sealed_by(first));
    ASSERT_EQ(::utimensat(AT_FDCWD, (dir / "tree" + "/" + name).c_str(), nullptr, 0), 0);
    EXPECT_FALSE(is_sealed_by(first)) << name;
  }
}

TEST_F(SealedTree, IsNotMadeByFollowingLinks) {
  dir.file("outside/file", "x");
  dir.link("tree/out", dir / "outside");
  const std::string first = seal();
  dir.file("outside/other", "y");
  EXPECT_EQ(seal(), first);
  EXPECT_TRUE(is_sealed_by(first));
}

}  // namespace
}  // namespace hermetic
