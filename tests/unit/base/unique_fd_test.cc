#include "hermetic/base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace hermetic {
namespace {

UniqueFd open_null() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesWhatItOwns) {
  int number = -1;
  {
    const UniqueFd fd = open_null();
    number = fd.get();
    ASSERT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, OwnsNothingAtFirst) {
  const UniqueFd fd;
  EXPECT_FALSE(fd.is_open());
  EXPECT_EQ(fd.get(), -1);
}

TEST(UniqueFd, GivesAwayWhatIsMoved) {
  UniqueFd first = open_null();
  const int number = first.get();
  const UniqueFd second = std::move(first);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, ClosesTheOldOneWhenItGetsANewOne) {
  UniqueFd fd = open_null();
  const int old = fd.get();
  fd = open_null();
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFd, SurvivesBeingMovedIntoItself) {
  UniqueFd fd = open_null();
  UniqueFd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(fd.is_open());
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(UniqueFd, ReleasesWithoutClosing) {
  UniqueFd fd = open_null();
  const int number = fd.release();
  EXPECT_FALSE(fd.is_open());
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

}  // namespace
}  // namespace hermetic
