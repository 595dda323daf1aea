#include "hermetic/workspace/contents.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/unique_fd.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

// A file that nobody has written for long.
TEST(ContentsOfFiles, AreReadOnce) {
  const std::string file = "/bin/sh";
  const UniqueFd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  Contents contents;
  const std::string digest = contents.digest_of(open.get(), file).value();
  EXPECT_EQ(digest, sha256(read_whole_file(file).value()));
  // Who would read it once more would find its end.
  EXPECT_EQ(contents.digest_of(open.get(), file).value(), digest);
  EXPECT_EQ(contents.digest_of(file).value(), digest);
}

TEST(ContentsOfFiles, AreReadAgainWhenTheyAreChanged) {
  const TempDir dir;
  const std::string file = dir.file("model", "first");
  Contents contents;
  EXPECT_EQ(contents.digest_of(file).value(), sha256("first"));
  dir.file("model", "second");
  EXPECT_EQ(contents.digest_of(file).value(), sha256("second"));
}

// As two writes within one tick of the clock that files have: through memory, only the first of
// them changes the times.
TEST(ContentsOfFiles, AreReadAgainWhenTheyWereChangedAMomentAgo) {
  const TempDir dir;
  const std::string file = dir.file("model", "0");
  const UniqueFd open(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  void* memory = ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, open.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  Contents contents;
  for (const char* text : {"1", "2", "3"}) {
    *static_cast<volatile char*>(memory) = *text;
    EXPECT_EQ(contents.digest_of(file).value(), sha256(text));
  }
  ::munmap(memory, 1);
}

TEST(ContentsOfFiles, AreOfFilesOnly) {
  const TempDir dir;
  Contents contents;
  EXPECT_THAT(contents.digest_of("/dev/zero").error().message, ::testing::HasSubstr("not a file"));
  EXPECT_THAT(contents.digest_of(dir / "none").error().message, ::testing::HasSubstr("none"));
}

}  // namespace
}  // namespace hermetic
