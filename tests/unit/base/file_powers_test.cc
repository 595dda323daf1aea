#include "hermetic/base/file_powers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "hermetic/base/file_tree.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

constexpr const char* kAttribute = "security.capability";

// All capabilities, permitted and effective, as they are stored: capabilities(7).
bool give_capabilities(const std::string& path) {
  const std::array<std::uint32_t, 5> value = {0x02000001, 0xffffffff, 0, 0xffffffff, 0};
  return ::setxattr(path.c_str(), kAttribute, value.data(), sizeof value, 0) == 0;
}

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

Result<void> clear_all(const std::string& path) {
  const UniqueFd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return clear_powers_in(top.get());
}

TEST(FilePowers, AreTakenFromATreeAndTheOtherBitsStay) {
  const TempDir dir;
  dir.file("t/set-user");
  dir.file("t/sub/set-group");
  dir.file("t/plain");
  dir.link("t/link", "set-user");
  ASSERT_EQ(::chmod((dir / "t/set-user").c_str(), 04751), 0);
  ASSERT_EQ(::chmod((dir / "t/sub/set-group").c_str(), 02600), 0);
  ASSERT_EQ(::chmod((dir / "t/plain").c_str(), 01640), 0);
  ASSERT_EQ(::chmod((dir / "t/sub").c_str(), 03500), 0);
  ASSERT_EQ(::chmod((dir / "t").c_str(), 06755), 0);
  ASSERT_EQ(::mkfifo((dir / "t/pipe").c_str(), 0600), 0);
  ASSERT_TRUE(clear_all(dir / "t"));
  EXPECT_EQ(mode_of(dir / "t/set-user"), 0751U);
  EXPECT_EQ(mode_of(dir / "t/plain"), 01640U);
  EXPECT_EQ(mode_of(dir / "t/sub"), 01500U);
  EXPECT_EQ(mode_of(dir / "t"), 0755U);
  EXPECT_EQ(mode_of(dir / "t/pipe"), 0600U);
  ASSERT_EQ(::chmod((dir / "t/sub").c_str(), 0700), 0);
  EXPECT_EQ(mode_of(dir / "t/sub/set-group"), 0600U);
}

TEST(FilePowers, OfDirectoriesThatAreLockedAreTakenToo) {
  const TempDir dir;
  dir.file("t/locked/deep/f");
  ASSERT_EQ(::chmod((dir / "t/locked/deep/f").c_str(), 06755), 0);
  ASSERT_EQ(::chmod((dir / "t/locked/deep").c_str(), 0000), 0);
  ASSERT_EQ(::chmod((dir / "t/locked").c_str(), 0000), 0);
  ASSERT_TRUE(clear_all(dir / "t"));
  EXPECT_EQ(mode_of(dir / "t/locked"), 0000U);
  ASSERT_EQ(::chmod((dir / "t/locked").c_str(), 0700), 0);
  EXPECT_EQ(mode_of(dir / "t/locked/deep"), 0000U);
  ASSERT_EQ(::chmod((dir / "t/locked/deep").c_str(), 0700), 0);
  EXPECT_EQ(mode_of(dir / "t/locked/deep/f"), 0755U);
}

TEST(FilePowers, CapabilitiesAreTaken) {
  if (::geteuid() != 0) GTEST_SKIP() << "a plain user can give no file capabilities";
  const TempDir dir;
  dir.file("t/program");
  ASSERT_TRUE(give_capabilities(dir / "t/program"));
  const UniqueFd top(::open((dir / "t").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(has_capabilities(top.get(), "program"));
  EXPECT_TRUE(has_capabilities(AT_FDCWD, dir / "t/program"));
  ASSERT_TRUE(clear_powers_in(top.get()));
  EXPECT_FALSE(has_capabilities(top.get(), "program"));
  dir.link("t/link", "program");
  ASSERT_TRUE(give_capabilities(dir / "t/program"));
  EXPECT_FALSE(has_capabilities(top.get(), "link")) << "a link has none of its own";
  ASSERT_TRUE(clear_powers(top.get(), "link"));
  EXPECT_TRUE(has_capabilities(top.get(), "program"));
}

TEST(FilePowers, DevicesAreRemovedAndMarksOfALayerStay) {
  if (::geteuid() != 0) GTEST_SKIP() << "a plain user can make no device";
  const TempDir dir;
  dir.directory("t");
  // A number that no driver has.
  if (::mknod((dir / "t/device").c_str(), S_IFCHR | 0600, 511U << 8U | 7U) != 0)
    GTEST_SKIP() << "no device can be made here";
  ASSERT_EQ(::mknod((dir / "t/mark").c_str(), S_IFCHR, 0), 0);
  ASSERT_TRUE(clear_all(dir / "t"));
  EXPECT_FALSE(is_present(dir / "t/device"));
  EXPECT_TRUE(is_present(dir / "t/mark"));
}

TEST(FilePowers, DirectoriesThatAreTooDeepAreToldAndTheRestIsDone) {
  const TempDir dir;
  dir.nest("t", "d", kDeepestTree + 10);
  dir.file("t/z");
  ASSERT_EQ(::chmod((dir / "t/z").c_str(), 04755), 0);
  EXPECT_FALSE(clear_all(dir / "t"));
  EXPECT_EQ(mode_of(dir / "t/z"), 0755U);
}

}  // namespace
}  // namespace hermetic
