#include "hermetic/backends/linux/descriptor_closer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace hermetic::linux_backend {
namespace {

constexpr uid_t kNobody = 65534;

TEST(DescriptorCloser, HasClosedWhenItHasSettled) {
  DescriptorCloser closer;
  for (int i = 0; i < 100; ++i) {
    UniqueFd copy(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int number = copy.get();
    closer.close(std::move(copy));
    // It waits a moment, which a busy machine may not have.
    for (int k = 0; k < 1000 && ::fcntl(number, F_GETFD) != -1; ++k) closer.settle();
    ASSERT_EQ(::fcntl(number, F_GETFD), -1) << i;
  }
  EXPECT_FALSE(closer.is_stuck());
}

// A command can take all processes that its user may have.
TEST(DescriptorCloser, IsStuckWhereItCanHaveNoThread) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(3);
    const rlimit one = {.rlim_cur = 1, .rlim_max = 1};
    if (::setrlimit(RLIMIT_NPROC, &one) != 0) ::_exit(3);
    DescriptorCloser closer;
    for (int i = 0; i < 3; ++i) closer.close(UniqueFd(::open("/dev/null", O_RDONLY)));
    closer.settle();
    ::_exit(closer.is_stuck() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hermetic::linux_backend
