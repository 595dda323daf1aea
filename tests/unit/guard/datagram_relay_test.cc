#include "hermetic/guard/datagram_relay.h"

#include "tests/unit/guard/sandbox_client.h"

namespace hermetic::guard::testing {
namespace {

class DatagramRelayTest : public GuardTest {};

bool echoes_datagram(int fd, const std::string& text) {
  std::string reply(65536, '\0');
  if (::send(fd, text.data(), text.size(), 0) < 0) return false;
  const ssize_t count = ::recv(fd, reply.data(), reply.size(), 0);
  return count >= 0 && reply.substr(0, static_cast<std::size_t>(count)) == text;
}

TEST_F(DatagramRelayTest, RepliesComeFromTheTarget) {
  start({"echo.test", "192.0.2.10", "2001:db8::10"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              // A connected socket takes datagrams from its peer only.
              const UniqueFd fd = client_socket(SOCK_DGRAM);
              const std::string synthetic = resolve("echo.test").address;
              REQUIRE(connect_to(observer, fd.get(), synthetic, kEcho, Protocol::Udp) == 0);
              REQUIRE(echoes_datagram(fd.get(), "by name"));
              REQUIRE(echoes_datagram(fd.get(), ""));
              REQUIRE(echoes_datagram(fd.get(), std::string(60000, 'x')));
              const UniqueFd other = client_socket(SOCK_DGRAM);
              REQUIRE(connect_to(observer, other.get(), "192.0.2.10", kEcho, Protocol::Udp) == 0);
              REQUIRE(echoes_datagram(other.get(), "by address"));
              const UniqueFd six = client_socket(SOCK_DGRAM, AF_INET6);
              REQUIRE(connect_to(observer, six.get(), "2001:db8::10", kEcho, Protocol::Udp,
                                 AF_INET6) == 0);
              REQUIRE(echoes_datagram(six.get(), "over six"));
              return "";
            }),
            "");
  const auto traffic = guard_->traffic();
  ASSERT_EQ(traffic.size(), 3U);
  EXPECT_EQ(traffic[0],
            (NetworkGuard::Destination{"echo.test", kEcho, Protocol::Udp, 1, 60007, 60007}));
  guard_->finish();
  EXPECT_EQ(events_.back().act, "received");
}

TEST_F(DatagramRelayTest, OthersAreRefused) {
  start({"echo.test:7001", "192.0.2.10:7001"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              for (const std::string& address : {std::string("192.0.2.10"), std::string("10.0.0.5"),
                                                 resolve("echo.test").address}) {
                const UniqueFd fd = client_socket(SOCK_DGRAM);
                REQUIRE(!observer.announce(address, kEcho, Protocol::Udp));
                REQUIRE(connect_to(observer, fd.get(), address, kEcho, Protocol::Udp) == 0);
                REQUIRE(::send(fd.get(), "x", 1, 0) == 1);
                char byte = 0;
                REQUIRE(::recv(fd.get(), &byte, 1, 0) < 0 && errno == ECONNREFUSED);
              }
              return "";
            }),
            "");
}

TEST_F(DatagramRelayTest, ANameThatMovesIsRefused) {
  start({"rebind.test"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_DGRAM);
              const std::string synthetic = resolve("rebind.test").address;
              REQUIRE(connect_to(observer, fd.get(), synthetic, kEcho, Protocol::Udp) == 0);
              REQUIRE(::send(fd.get(), "x", 1, 0) == 1);
              pollfd polled = {fd.get(), POLLIN, 0};
              REQUIRE(::poll(&polled, 1, 500) == 0);
              return "";
            }),
            "");
  ASSERT_NE(event("reach", Verdict::Deny), nullptr);
}

TEST_F(DatagramRelayTest, FlowsAreBounded) {
  start({"192.0.2.10"}, 16, 16);  // 256 flows among 17 sockets
  EXPECT_EQ(
      inside([](Observer& observer) -> std::string {
        std::vector<UniqueFd> fds;
        for (int round = 0; round < 2; ++round)
          for (int i = 0; i < 40; ++i) {
            if (round == 0) {
              fds.push_back(client_socket(SOCK_DGRAM));
              REQUIRE(connect_to(observer, fds.back().get(), "192.0.2.10", kEcho, Protocol::Udp) ==
                      0);
            }
            REQUIRE(echoes_datagram(fds[static_cast<std::size_t>(i)].get(), std::to_string(i)));
          }
        return "";
      }),
      "");
  EXPECT_EQ(guard_->traffic()[0].connections, 80U);  // each had to be opened again
}

}  // namespace
}  // namespace hermetic::guard::testing
