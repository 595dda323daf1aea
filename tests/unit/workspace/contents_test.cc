#include "hermetic/workspace/contents.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/base/digest.h"
#include "hermetic/base/unique_fd.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

TEST(ContentsOfFiles, AreReadOnceUntilTheyAreChanged) {
  const TempDir dir;
  const std::string file = dir.file("model", "first");
  const UniqueFd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  Contents contents;
  EXPECT_EQ(contents.digest_of(open.get(), file).value(), sha256("first"));
  // Who would read it once more would find its end.
  EXPECT_EQ(contents.digest_of(open.get(), file).value(), sha256("first"));
  EXPECT_EQ(contents.digest_of(file).value(), sha256("first"));
  dir.file("model", "second");
  EXPECT_EQ(contents.digest_of(file).value(), sha256("second"));
}

TEST(ContentsOfFiles, AreOfFilesOnly) {
  const TempDir dir;
  Contents contents;
  EXPECT_THAT(contents.digest_of("/dev/zero").error().message, ::testing::HasSubstr("not a file"));
  EXPECT_THAT(contents.digest_of(dir / "none").error().message, ::testing::HasSubstr("none"));
}

}  // namespace
}  // namespace hermetic
