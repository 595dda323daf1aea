#include "hermetic/base/null_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace hermetic {
namespace {

// What fchmod() is asked for is what the mode is anyway.
TEST(NullDevice, CannotBeChangedThroughTheDescriptor) {
  const UniqueFd device = open_null_device(O_RDWR);
  ASSERT_TRUE(device.is_open());
  struct stat status = {};
  ASSERT_EQ(::fstat(device.get(), &status), 0);
  EXPECT_EQ(::fchmod(device.get(), status.st_mode), -1);
  EXPECT_EQ(errno, ::geteuid() == 0 ? EROFS : EPERM);
  char byte = 'x';
  EXPECT_EQ(::write(device.get(), &byte, 1), 1);
  EXPECT_EQ(::read(device.get(), &byte, 1), 0);
}

}  // namespace
}  // namespace hermetic
