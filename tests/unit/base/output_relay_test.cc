#include "hermetic/base/output_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

namespace hermetic {
namespace {

// A writer may hand its own memory to the pipe, and change it before it is read.
TEST(OutputRelay, KeepsWhatItHasPassedOn) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd destination(ends[1]);
  auto relay = OutputRelay::make(destination.get(), {.keep = 1U << 20U});
  ASSERT_TRUE(relay);
  ASSERT_TRUE((*relay)->start());
  constexpr std::size_t kSize = 32768;
  auto* memory = static_cast<char*>(
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::fill_n(memory, kSize, 'a');
  const iovec pages = {.iov_base = memory, .iov_len = kSize};
  ASSERT_EQ(::vmsplice((*relay)->writer(), &pages, 1, 0), static_cast<ssize_t>(kSize));
  for (int there = 0; there < static_cast<int>(kSize); ::usleep(1000))
    ASSERT_EQ(::ioctl(reader.get(), FIONREAD, &there), 0);
  std::fill_n(memory, kSize, 'b');
  const OutputRelay::Carried carried = (*relay)->finish(std::nullopt);
  std::string read(kSize, ' ');
  ASSERT_EQ(::read(reader.get(), read.data(), kSize), static_cast<ssize_t>(kSize));
  EXPECT_EQ(read, std::string(kSize, 'a'));
  EXPECT_EQ(carried.kept == read, true);
  ::munmap(memory, kSize);
}

}  // namespace
}  // namespace hermetic
