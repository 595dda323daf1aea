#include "hermetic/backends/linux/socket_kind.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {
namespace {

std::optional<SocketKind> kind_of_new(int family, int type, int protocol) {
  const UniqueFd socket(::socket(family, type | SOCK_CLOEXEC, protocol));
  EXPECT_TRUE(socket.is_open());
  return socket_kind(::getpid(), socket.get());
}

TEST(SocketKind, SaysWhatASocketIs) {
  EXPECT_EQ(kind_of_new(AF_INET, SOCK_STREAM, 0), (SocketKind{true, IPPROTO_TCP}));
  EXPECT_EQ(kind_of_new(AF_INET, SOCK_DGRAM, 0), (SocketKind{true, IPPROTO_UDP}));
  EXPECT_EQ(kind_of_new(AF_UNIX, SOCK_STREAM, 0), (SocketKind{false, 0}));
  EXPECT_EQ(kind_of_new(AF_UNIX, SOCK_DGRAM, 0), (SocketKind{false, 0}));
  EXPECT_EQ(kind_of_new(AF_NETLINK, SOCK_RAW, 0), (SocketKind{false, 0}));
}

TEST(SocketKind, KnowsTheSixthFamilyToo) {
  const UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) GTEST_SKIP() << "no IPv6 here";
  EXPECT_EQ(socket_kind(::getpid(), socket.get()), (SocketKind{true, IPPROTO_TCP}));
  EXPECT_EQ(kind_of_new(AF_INET6, SOCK_DGRAM, 0), (SocketKind{true, IPPROTO_UDP}));
}

TEST(SocketKind, DoesNotGuess) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  EXPECT_EQ(socket_kind(::getpid(), reader.get()), std::nullopt);
  EXPECT_EQ(socket_kind(::getpid(), 100'000), std::nullopt);
}

}  // namespace
}  // namespace hermetic::linux_backend
