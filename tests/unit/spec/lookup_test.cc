#include "hermetic/spec/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LookUpOnHost : public ::testing::Test {
 protected:
  static Found found(const std::string& path) {
    Result<Found> result = look_up_on_host(path);
    EXPECT_TRUE(result) << (result ? "" : to_string(result.error()));
    return result ? std::move(result).value() : Found{};
  }

  TempDir root_;
};

TEST_F(LookUpOnHost, FindsWhatIsThere) {
  const std::string directory = root_.directory("a/b");
  const std::string file = root_.file("a/f");
  EXPECT_EQ(found(directory).real_path, directory);
  EXPECT_TRUE(found(directory).exists());
  EXPECT_EQ(found(directory).type, FileType::Directory);
  EXPECT_EQ(found(file).type, FileType::File);
  EXPECT_THAT(found(file).links, IsEmpty());
  EXPECT_EQ(found("/").real_path, "/");
}

TEST_F(LookUpOnHost, FollowsAChainOfRelativeAndAbsoluteLinks) {
  const std::string target = root_.directory("real/deep");
  root_.link("first", "second");
  root_.link("second", root_ / "third");
  root_.link("third", "./real//");
  const Found object = found(root_ / "first/deep");
  EXPECT_EQ(object.real_path, target);
  EXPECT_TRUE(object.exists());
  EXPECT_THAT(object.links,
              ElementsAre(Link{root_ / "first", "second"}, Link{root_ / "second", root_ / "third"},
                          Link{root_ / "third", "./real//"}));
}

TEST_F(LookUpOnHost, GoesUpFromWhereALinkStandsAndNotFromItsName) {
  root_.directory("x/y");
  root_.directory("x/z");
  root_.link("l", "x/y");
  root_.link("m", "l/../z");
  EXPECT_EQ(found(root_ / "m").real_path, root_ / "x/z") << "not " << root_ / "z";
  root_.link("top", "../../../../../../../../..");
  EXPECT_EQ(found(root_ / "top").real_path, "/") << "the root is its own parent";
}

TEST_F(LookUpOnHost, KeepsWhatDoesNotExistAsWritten) {
  root_.directory("a");
  const Found object = found(root_ / "a/b/c");
  EXPECT_FALSE(object.exists());
  EXPECT_EQ(object.real_path, root_ / "a/b/c");
  EXPECT_EQ(object.existing_path, root_ / "a");
  EXPECT_EQ(object.type, FileType::Directory) << "of the part that exists";
}

TEST_F(LookUpOnHost, FollowsADanglingLinkToWhereItsTargetWouldBe) {
  root_.link("l", "not/yet");
  const Found object = found(root_ / "l/x");
  EXPECT_EQ(object.real_path, root_ / "not/yet/x");
  EXPECT_EQ(object.existing_path, root_.path());
  EXPECT_THAT(object.links, ElementsAre(Link{root_ / "l", "not/yet"}));
}

TEST_F(LookUpOnHost, RefusesToGoUpFromWhatDoesNotExist) {
  root_.link("l", "missing/../x");
  const Result<Found> object = look_up_on_host(root_ / "l");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().kind, Error::Kind::InvalidSpec);
  EXPECT_THAT(object.error().message, HasSubstr("does not exist"));
}

TEST_F(LookUpOnHost, EndsInALoop) {
  root_.link("a", "b");
  root_.link("b", "a");
  const Result<Found> object = look_up_on_host(root_ / "a");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().os_error, ELOOP);
}

TEST_F(LookUpOnHost, FollowsAsManyLinksAsTheKernel) {
  root_.directory("l0");
  for (int i = 1; i <= 41; ++i) root_.link("l" + std::to_string(i), "l" + std::to_string(i - 1));
  EXPECT_EQ(found(root_ / "l40").real_path, root_ / "l0");
  EXPECT_EQ(look_up_on_host(root_ / "l41").error().os_error, ELOOP);
}

TEST_F(LookUpOnHost, TreatsAPathBelowAFileAsMissing) {
  const std::string file = root_.file("f");
  const Found object = found(file + "/x");
  EXPECT_FALSE(object.exists());
  EXPECT_EQ(object.existing_path, file);
  EXPECT_EQ(object.type, FileType::File);
}

TEST_F(LookUpOnHost, RefusesALinkWhoseTextIsNotUtf8) {
  root_.link("l", "caf\xe9");
  const Result<Found> object = look_up_on_host(root_ / "l");
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message, HasSubstr("'caf\\xe9', which is not valid UTF-8"));
}

TEST_F(LookUpOnHost, HoldsTheObjectThatItFoundWhateverBecomesOfTheName) {
  const std::string name = root_.directory("a");
  const Found object = found(name);
  std::filesystem::rename(name, root_ / "moved");
  root_.directory("a");  // an impostor under the old name
  struct stat held = {};
  struct stat moved = {};
  struct stat impostor = {};
  ASSERT_EQ(::fstat(object.descriptor->get(), &held), 0);
  ASSERT_EQ(::stat((root_ / "moved").c_str(), &moved), 0);
  ASSERT_EQ(::stat(name.c_str(), &impostor), 0);
  EXPECT_EQ(held.st_ino, moved.st_ino);
  EXPECT_NE(held.st_ino, impostor.st_ino);
  EXPECT_EQ(object.inode, moved.st_ino);
}

TEST(LookUpByName, BelievesEverything) {
  const Found object = look_up_by_name("/no/such/place").value();
  EXPECT_TRUE(object.exists());
  EXPECT_EQ(object.real_path, "/no/such/place");
  EXPECT_EQ(object.descriptor, nullptr);
}

}  // namespace
}  // namespace hermetic
