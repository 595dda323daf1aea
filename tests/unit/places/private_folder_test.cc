#include "hermetic/places/private_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "hermetic/base/file_tree.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

Result<void> put_entry(const PrivateFolder& folder) {
  if (::mkdirat(folder.descriptor.get(), "entry", 0700) != 0)
    return system_error("cannot make the entry", errno);
  return {};
}

TEST(PrivateFolder, IsClosedToOthersAndLocked) {
  const TempDir dir;
  const Result<PrivateFolder> folder = make_private_folder(dir.path(), put_entry);
  ASSERT_TRUE(folder) << to_string(folder.error());
  EXPECT_THAT(folder->path, ::testing::StartsWith(dir / private_folder_prefix()));
  struct stat status = {};
  ASSERT_EQ(::stat(folder->path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  const UniqueFd other = open_directory(AT_FDCWD, folder->path).value();
  EXPECT_FALSE(lock_abandoned(other.get()));
}

TEST(PrivateFolder, CanBeLockedWhenItsMakerIsGone) {
  const TempDir dir;
  Result<PrivateFolder> folder = make_private_folder(dir.path(), put_entry);
  ASSERT_TRUE(folder);
  folder->descriptor.reset();
  const UniqueFd other = open_directory(AT_FDCWD, folder->path).value();
  EXPECT_TRUE(lock_abandoned(other.get()));
  const UniqueFd third = open_directory(AT_FDCWD, folder->path).value();
  EXPECT_FALSE(lock_abandoned(third.get()));
}

// Somebody who clears up comes between the making and the locking, or between the locking and the
// first entry: the maker takes another folder.
TEST(PrivateFolder, IsAnotherOneIfTheFirstWasRemoved) {
  const TempDir dir;
  std::vector<std::string> removed;
  const auto fill = [&](const PrivateFolder& folder) -> Result<void> {
    if (removed.size() < 3) {
      removed.push_back(folder.path);
      EXPECT_EQ(::rmdir(folder.path.c_str()), 0);
    }
    return put_entry(folder);
  };
  const Result<PrivateFolder> folder = make_private_folder(dir.path(), fill);
  ASSERT_TRUE(folder) << to_string(folder.error());
  EXPECT_EQ(removed.size(), 3U);
  EXPECT_THAT(removed, ::testing::Not(::testing::Contains(folder->path)));
  EXPECT_TRUE(std::filesystem::exists(folder->path + "/entry"));
}

TEST(PrivateFolder, IsNotLeftIfItCannotBeFilled) {
  const TempDir dir;
  const Result<PrivateFolder> folder =
      make_private_folder(dir.path(), [](const PrivateFolder& made) -> Result<void> {
        (void)put_entry(made);
        return system_error("no", EIO);
      });
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().os_error, EIO);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(PrivateFolder, ThatIsGoneCannotBeLocked) {
  const TempDir dir;
  Result<PrivateFolder> folder = make_private_folder(
      dir.path(), [](const PrivateFolder& /*folder*/) { return Result<void>(); });
  ASSERT_TRUE(folder);
  const UniqueFd other = open_directory(AT_FDCWD, folder->path).value();
  folder->descriptor.reset();
  ASSERT_EQ(::rmdir(folder->path.c_str()), 0);
  EXPECT_FALSE(lock_abandoned(other.get()));
}

}  // namespace
}  // namespace hermetic
