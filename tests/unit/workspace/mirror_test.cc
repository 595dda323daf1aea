#include "hermetic/workspace/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "hermetic/base/file_text.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;

class Mirrors : public ::testing::Test {
 protected:
  [[nodiscard]] std::string read(const std::string& path) const {
    const Result<std::string> text = read_whole_file(dir / path);
    return text ? *text : "(none)";
  }
  [[nodiscard]] bool exists(const std::string& path) const {
    return fs::exists(fs::symlink_status(dir / path));
  }
  void out() { ASSERT_TRUE(mirror.bring_out().has_value()); }
  void in() { ASSERT_TRUE(mirror.bring_in().has_value()); }

  const TempDir dir;
  Mirror mirror{dir.directory("inner"), dir.directory("outer")};
};

TEST_F(Mirrors, CarryOverWhatIsNewChangedAndGone) {
  dir.file("inner/a/b/file", "1");
  dir.file("inner/gone", "1");
  fs::create_symlink("a/b", dir / "inner/link");
  out();
  EXPECT_EQ(read("outer/a/b/file"), "1");
  EXPECT_EQ(fs::read_symlink(dir / "outer/link"), "a/b");
  dir.file("inner/a/b/file", "2");
  fs::remove(dir / "inner/gone");
  out();
  EXPECT_EQ(read("outer/a/b/file"), "2");
  EXPECT_FALSE(exists("outer/gone"));
  fs::remove_all(dir / "outer/a");
  dir.file("outer/a", "a file");
  dir.file("outer/new/file", "3");
  in();
  EXPECT_EQ(read("inner/a"), "a file");
  EXPECT_EQ(read("inner/new/file"), "3");
  fs::remove(dir / "inner/a");
  dir.file("inner/a/b/file", "4");
  out();
  EXPECT_EQ(read("outer/a/b/file"), "4");
}

TEST_F(Mirrors, KeepModesAndTimes) {
  dir.file("inner/program", "1");
  ASSERT_EQ(::chmod((dir / "inner/program").c_str(), 04755), 0);
  ASSERT_EQ(::chmod(dir.directory("inner/closed").c_str(), 0500), 0);
  fs::last_write_time(dir / "inner/program", fs::file_time_type(std::chrono::hours(1)));
  out();
  struct stat status = {};
  ASSERT_EQ(::stat((dir / "outer/program").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);  // it takes on no powers
  EXPECT_EQ(fs::last_write_time(dir / "outer/program"), fs::last_write_time(dir / "inner/program"));
  ASSERT_EQ(::stat((dir / "outer/closed").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0500U);
  ASSERT_EQ(::chmod((dir / "outer/closed").c_str(), 0700), 0);
  in();
  ASSERT_EQ(::stat((dir / "inner/closed").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST_F(Mirrors, LeaveToEachSideWhatGitKeeps) {
  for (const char* name : {"inner/.git/config", "inner/a/.git/config", "inner/a/.GiT/config"})
    dir.file(name, "inner");
  dir.file("inner/.gitignore", "inner");
  out();
  EXPECT_FALSE(exists("outer/.git"));
  EXPECT_FALSE(exists("outer/a/.git"));
  EXPECT_FALSE(exists("outer/a/.GiT"));
  EXPECT_EQ(read("outer/.gitignore"), "inner");
  dir.file("outer/.git/config", "outer");
  fs::create_symlink("/", dir / "outer/a/.git");
  in();
  EXPECT_EQ(read("inner/.git/config"), "inner");
  EXPECT_EQ(read("inner/a/.git/config"), "inner");
  fs::remove_all(dir / "inner/a");
  out();
  EXPECT_FALSE(exists("outer/a"));  // with what was left in it
  EXPECT_EQ(read("outer/.git/config"), "outer");
}

TEST_F(Mirrors, FollowNoLinkAndTakeNothingButFilesDirectoriesAndLinks) {
  const std::string outside = dir.file("outside/file", "outside");
  dir.file("inner/folder/file", "1");
  out();
  fs::remove_all(dir / "outer/folder");
  fs::create_directory_symlink(dir / "outside", dir / "outer/folder");
  dir.file("inner/folder/file", "2");
  ASSERT_EQ(::mkfifo((dir / "inner/pipe").c_str(), 0600), 0);
  out();
  EXPECT_EQ(read("outside/file"), "outside");
  EXPECT_FALSE(exists("outer/pipe"));
  in();
  EXPECT_TRUE(fs::is_symlink(dir / "inner/folder"));
  fs::remove(dir / "inner/folder");
  dir.file("inner/folder/file", "3");
  out();
  EXPECT_EQ(read("outer/folder/file"), "3");
  EXPECT_EQ(read("outside/file"), "outside");
}

TEST_F(Mirrors, LetTheCallersVersionStandIfBothHaveChanged) {
  for (const char* name : {"both", "removed", "gone"}) dir.file(std::string("inner/") + name, "1");
  out();
  dir.file("inner/both", "inner");
  dir.file("outer/both", "outer");
  fs::remove(dir / "inner/removed");
  dir.file("outer/removed", "outer");
  dir.file("inner/gone", "inner");
  fs::remove(dir / "outer/gone");
  dir.file("inner/new", "inner");
  dir.file("outer/new", "outer");
  out();
  in();
  for (const char* side : {"inner/", "outer/"}) {
    EXPECT_EQ(read(side + std::string("both")), "outer");
    EXPECT_EQ(read(side + std::string("removed")), "outer");
    EXPECT_EQ(read(side + std::string("gone")), "(none)");
    EXPECT_EQ(read(side + std::string("new")), "outer");
  }
}

TEST_F(Mirrors, KeepTheNamesOfAFileTogether) {
  dir.file("inner/a/first", "1");
  const auto name = [&](const std::string& other) {
    fs::create_hard_link(dir / "inner/a/first", dir / ("inner/" + other));
  };
  const auto names_of = [&](const std::string& path) { return fs::hard_link_count(dir / path); };
  name("b");
  name("a/c");
  out();
  EXPECT_EQ(names_of("outer/b"), 3U);
  name("d");  // of one that is there already
  out();
  EXPECT_EQ(names_of("outer/d"), 4U);
  EXPECT_EQ(read("outer/d"), "1");
  fs::remove(dir / "outer/b");
  dir.file("outer/b", "mine");
  fs::remove(dir / "inner/b");
  name("b");
  name("e");
  out();
  EXPECT_EQ(read("outer/b"), "mine");  // and nothing else is it now
  EXPECT_EQ(read("outer/e"), "1");
  in();
  EXPECT_EQ(read("inner/b"), "mine");
  EXPECT_EQ(read("inner/a/first"), "1");
}

TEST_F(Mirrors, EndAtADepthThatNoDescriptorsAreLeftFor) {
  std::string deep = "inner";
  for (int i = 0; i < 300; ++i) deep += "/d";
  dir.file(deep + "/file", "1");
  out();
  EXPECT_TRUE(exists("outer/d/d/d"));
  EXPECT_FALSE(exists("outer" + deep.substr(5)));
  in();
  EXPECT_EQ(read(deep + "/file"), "1");
}

}  // namespace
}  // namespace hermetic
