#include "hermetic/base/file_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace hermetic {
namespace {

namespace fs = std::filesystem;

// A scratch directory, gone with everything in it.
class FileTree : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(root.data()), nullptr); }
  void TearDown() override { fs::remove_all(root); }

  [[nodiscard]] std::string at(const std::string& name) const { return root + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name)) << text;
  }
  [[nodiscard]] Result<void> remove(const std::string& name) const {
    const UniqueFd parent(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return remove_tree(parent.get(), name);
  }

  std::string root = "/tmp/hermetic-file-tree-XXXXXX";
};

TEST_F(FileTree, WhatIsPresentMayBeALinkToNowhere) {
  write("file", "");
  fs::create_symlink("nowhere", at("link"));
  EXPECT_TRUE(is_present(at("file")));
  EXPECT_TRUE(is_present(at("link")));
  EXPECT_FALSE(is_present(at("nowhere")));
  EXPECT_FALSE(is_present(at("file/below")));
}

TEST_F(FileTree, RemovesFilesLinksAndLockedDirectories) {
  write("keep/f", "kept");
  write("tree/a/b/c", "x");
  fs::create_symlink(at("keep"), at("tree/link"));
  fs::create_symlink(at("keep/f"), at("tree/a/link"));
  ASSERT_EQ(::chmod(at("tree/a/b").c_str(), 0), 0);
  ASSERT_EQ(::chmod(at("tree/a").c_str(), 0), 0);
  const Result<void> done = remove("tree");
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_FALSE(fs::exists(at("tree")));
  EXPECT_TRUE(fs::exists(at("keep/f"))) << "a link was followed";
}

TEST_F(FileTree, RemovesTreesDeeperThanItHasDescriptors) {
  UniqueFd here(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::mkdirat(here.get(), "deep", 0755), 0);
  here = UniqueFd(::openat(here.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < 2000; ++level) {
    ASSERT_EQ(::mkdirat(here.get(), "d", 0755), 0);
    here = UniqueFd(::openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  here.reset();
  const Result<void> done = remove("deep");
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_FALSE(fs::exists(at("deep")));
}

TEST_F(FileTree, RemovingALinkRemovesTheLinkOnly) {
  write("keep/f", "kept");
  fs::create_symlink(at("keep"), at("link"));
  ASSERT_TRUE(remove("link"));
  EXPECT_TRUE(fs::exists(at("keep/f")));
  EXPECT_TRUE(remove("not there"));
}

TEST_F(FileTree, CopiesWhatIsThereAndFollowsNothing) {
  write("from/f", "text");
  write("from/sub/g", std::string(300'000, 'g'));
  fs::create_symlink("f", at("from/link"));
  ASSERT_EQ(::chmod(at("from/f").c_str(), 0754), 0);
  const Result<void> done = copy_tree(AT_FDCWD, at("from"), AT_FDCWD, at("to"));
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(fs::file_size(at("to/sub/g")), 300'000U);
  EXPECT_EQ(fs::read_symlink(at("to/link")), "f");
  struct stat status = {};
  ASSERT_EQ(::stat(at("to/f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0754U);
  EXPECT_EQ(copy_tree(AT_FDCWD, at("from"), AT_FDCWD, at("to")).error().os_error, EEXIST);
}

// A command can make a file of a terabyte that takes no room; its copy must not take any either.
TEST_F(FileTree, CopiesHolesAsHoles) {
  write("from/f", "begin");
  fs::resize_file(at("from/f"), 1U << 30U);
  std::ofstream(at("from/f"), std::ios::app) << "end";
  write("from/empty", "");
  fs::resize_file(at("from/empty"), 1U << 30U);
  ASSERT_TRUE(copy_tree(AT_FDCWD, at("from"), AT_FDCWD, at("to")));
  for (const char* name : {"to/f", "to/empty"}) {
    struct stat status = {};
    ASSERT_EQ(::stat(at(name).c_str(), &status), 0);
    EXPECT_LT(status.st_blocks, 1000) << name;
  }
  EXPECT_EQ(fs::file_size(at("to/empty")), 1U << 30U);
  EXPECT_EQ(fs::file_size(at("to/f")), (1U << 30U) + 3);
  std::ifstream copy(at("to/f"));
  std::string text(5, ' ');
  copy.read(text.data(), 5);
  EXPECT_EQ(text, "begin");
  copy.seekg(-3, std::ios::end);
  copy.read(text.data(), 3);
  EXPECT_EQ(text.substr(0, 3), "end");
}

}  // namespace
}  // namespace hermetic
