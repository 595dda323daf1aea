#include "hermetic/backends/linux/network_observer.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "hermetic/backends/linux/filter_program.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::uint64_t kKey = 0x1234'5678'9abc'def0;

bool asks(const std::vector<sock_filter>& filter, int number, std::uint64_t first,
          std::uint64_t second = 0, std::uint64_t third = 0) {
  seccomp_data data = {};
  data.nr = number;
  data.args[0] = first;
  data.args[1] = second;
  data.args[2] = third;
  return answer_of(filter, data) == SECCOMP_RET_USER_NOTIF;
}

TEST(NetworkObserverFilter, AsksAboutEverySocketButThoseOfUnix) {
  const auto filter = network_observer_filter(kKey);
  for (std::uint64_t family = 0; family < 64; ++family)
    EXPECT_EQ(asks(filter, SYS_socket, family, SOCK_STREAM), family != AF_UNIX) << family;
}

TEST(NetworkObserverFilter, LeavesOutTcpAndUdpOnlyIfNobodyListens) {
  const auto filter = network_observer_filter(kKey, false);
  for (std::uint64_t family = 0; family < 64; ++family)
    for (std::uint64_t type = 0; type < 16; ++type)
      for (std::uint64_t protocol = 0; protocol < 300; ++protocol) {
        const bool plain = (family == AF_INET || family == AF_INET6) &&
                           (type == SOCK_STREAM || type == SOCK_DGRAM) &&
                           (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP);
        // The flags of the type, and what the kernel does not look at, change nothing.
        const std::uint64_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK | (std::uint64_t{7} << 32U);
        EXPECT_EQ(asks(filter, SYS_socket, family, type | flags, protocol),
                  !plain && family != AF_UNIX)
            << family << " " << type << " " << protocol;
      }
  for (const int call : {SYS_connect, SYS_bind, SYS_listen, SYS_accept4, SYS_sendmsg, SYS_sendmmsg,
                         SYS_io_uring_setup})
    EXPECT_TRUE(asks(filter, call, 3)) << call;
}

TEST(NetworkObserverFilter, AsksAboutWhatIsSentToAnAddressOrMayAskForAName) {
  const auto is_asked = [](bool questions, std::uint64_t size, std::uint64_t address) {
    seccomp_data data = {};
    data.nr = SYS_sendto;
    data.args[2] = size;
    data.args[4] = address;
    return answer_of(network_observer_filter(kKey, true, questions), data) ==
           SECCOMP_RET_USER_NOTIF;
  };
  for (const bool questions : {false, true}) {
    for (const std::uint64_t size : {0U, 1U, 16U, 17U, 100U, 512U, 513U, 1'000'000U}) {
      EXPECT_EQ(is_asked(questions, size, 0), questions && size >= 17 && size <= 512) << size;
      EXPECT_TRUE(is_asked(questions, size, 1)) << size;
      EXPECT_TRUE(is_asked(questions, size, std::uint64_t{1} << 32U)) << size;
    }
    EXPECT_FALSE(is_asked(questions, (std::uint64_t{1} << 32U) + 100, 0));
  }
}

}  // namespace
}  // namespace hermetic::linux_backend
