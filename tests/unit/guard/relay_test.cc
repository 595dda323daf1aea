#include "hermetic/guard/relay.h"

#include <sys/epoll.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/unit/guard/sandbox_client.h"

namespace hermetic::guard::testing {
namespace {

constexpr const char* kRelayed = "192.0.2.10";

class RelayTest : public GuardTest {
 protected:
  void SetUp() override {
    GuardTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) start({"192.0.2.0/24"});
  }
};

std::uint32_t wait_for(int epoll) {
  epoll_event event = {};
  return ::epoll_wait(epoll, &event, 1, 20000) == 1 ? event.events : 0;
}

TEST_F(RelayTest, ConnectsWithoutBlocking) {
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM | SOCK_NONBLOCK);
              REQUIRE(observer.announce(kRelayed, kEcho));
              const SocketAddress server = socket_address(*parse_address(kRelayed), kEcho);
              const int result = ::connect(fd.get(), server.get(), server.size);
              REQUIRE(result == 0 || errno == EINPROGRESS);
              pollfd polled = {fd.get(), POLLOUT, 0};
              REQUIRE(::poll(&polled, 1, 20000) == 1 && polled.revents == POLLOUT);
              REQUIRE(send_all(fd.get(), "ping", 4));
              polled.events = POLLIN;
              REQUIRE(::poll(&polled, 1, 20000) == 1);
              REQUIRE(receive(fd.get(), 4) == "ping");
              return "";
            }),
            "");
}

TEST_F(RelayTest, ConnectsAfterItWasRegisteredAndDuplicated) {
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM);
              const UniqueFd epoll(::epoll_create1(0));
              epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {}};
              REQUIRE(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) == 0);
              const UniqueFd copy(::dup(fd.get()));
              REQUIRE(connect_to(observer, fd.get(), kRelayed, kEcho) == 0);
              REQUIRE(send_all(copy.get(), "ping", 4));
              std::uint32_t events = 0;
              for (int i = 0; i < 3 && (events & EPOLLIN) == 0; ++i) events = wait_for(epoll.get());
              REQUIRE((events & EPOLLIN) != 0);
              REQUIRE(receive(copy.get(), 4) == "ping");
              return "";
            }),
            "");
}

TEST_F(RelayTest, EachDirectionEndsOnItsOwn) {
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), kRelayed, kCount) == 0);
              const std::string text(100000, 'x');
              REQUIRE(send_all(fd.get(), text.data(), text.size()));
              REQUIRE(::shutdown(fd.get(), SHUT_WR) == 0);
              REQUIRE(receive(fd.get(), 100) == "100000");
              const UniqueFd greeted = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, greeted.get(), kRelayed, kGreet) == 0);
              REQUIRE(receive(greeted.get(), 100) == "hello");
              return "";
            }),
            "");
}

TEST_F(RelayTest, AServerThatRefusesResetsTheClient) {
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), kRelayed, kNobody) == 0);
              char byte = 0;
              REQUIRE(::recv(fd.get(), &byte, 1, 0) < 0 && errno == ECONNRESET);
              return "";
            }),
            "");
  ASSERT_NE(event("reach", Verdict::Allow), nullptr);
  EXPECT_EQ(event("reach", Verdict::Allow)->detail, "Connection refused");
}

TEST_F(RelayTest, AResetIsPassedOn) {
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), kRelayed, kReset) == 0);
              REQUIRE(send_all(fd.get(), "x", 1));
              char byte = 0;
              REQUIRE(::recv(fd.get(), &byte, 1, 0) < 0 && errno == ECONNRESET);
              return "";
            }),
            "");
}

// Sends pseudo-random bytes while what comes back is compared with the same sequence.
std::string exchange(int fd, std::size_t size, unsigned seed) {
  const auto block_of = [](std::mt19937_64& random) {
    std::vector<std::uint64_t> block(16384);
    for (std::uint64_t& word : block) word = random();
    return block;
  };
  const std::size_t block_size = 16384 * sizeof(std::uint64_t);
  std::atomic<bool> was_sent = false;
  std::thread sender([&] {
    std::mt19937_64 random(seed);
    for (std::size_t sent = 0; sent < size; sent += block_size) {
      const std::vector<std::uint64_t> block = block_of(random);
      if (!send_all(fd, block.data(), block_size)) return;
    }
    was_sent = ::shutdown(fd, SHUT_WR) == 0;
  });
  std::mt19937_64 random(seed);
  std::string problem;
  for (std::size_t got = 0; got < size && problem.empty(); got += block_size) {
    const std::vector<std::uint64_t> block = block_of(random);
    const std::string text = receive(fd, block_size);
    if (text.size() != block_size || std::memcmp(text.data(), block.data(), block_size) != 0)
      problem = "differs after " + std::to_string(got + text.size());
  }
  if (problem.empty() && !receive(fd, 1).empty()) problem = "goes on after its end";
  sender.join();
  return was_sent ? problem : "not sent: " + problem;
}

TEST_F(RelayTest, AHundredMegabytesArriveBothWays) {
  constexpr std::size_t kSize = std::size_t{100} << 20U;
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), kRelayed, kEcho) == 0);
              return exchange(fd.get(), kSize, 1);
            }),
            "");
  const auto traffic = guard_->traffic();
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_EQ(traffic[0].sent, kSize);
  EXPECT_EQ(traffic[0].received, kSize);
}

std::string exchange_in_parallel(Observer& observer, int count, std::size_t size) {
  std::vector<UniqueFd> fds;
  for (int i = 0; i < count; ++i) {
    fds.push_back(client_socket(SOCK_STREAM));
    REQUIRE(connect_to(observer, fds.back().get(), kRelayed, kEcho) == 0);
  }
  std::vector<std::string> problems(fds.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < fds.size(); ++i)
    threads.emplace_back([&, i] {
      problems[i] = exchange(fds[i].get(), size, static_cast<unsigned>(i));
      fds[i].reset();
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems)
    if (!problem.empty()) return problem;
  return "";
}

TEST_F(RelayTest, TwoHundredConnectionsAtATime) {
  EXPECT_EQ(inside([](Observer& observer) {
              return exchange_in_parallel(observer, 200, std::size_t{1} << 18U);
            }),
            "");
  EXPECT_EQ(guard_->traffic()[0].connections, 200U);
}

TEST_F(RelayTest, MoreThanMayBeOpenWaitTheirTurn) {
  guard_.reset();
  start({"192.0.2.0/24"}, 16, 16, 3);
  EXPECT_EQ(inside([](Observer& observer) {
              return exchange_in_parallel(observer, 20, std::size_t{1} << 17U);
            }),
            "");
  EXPECT_EQ(guard_->traffic()[0].connections, 20U);
}

TEST_F(RelayTest, WhoDoesNotReadHoldsNobodyElseUp) {
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd stuck = client_socket(SOCK_STREAM | SOCK_NONBLOCK);
              REQUIRE(observer.announce(kRelayed, kEcho));
              const SocketAddress server = socket_address(*parse_address(kRelayed), kEcho);
              ::connect(stuck.get(), server.get(), server.size);
              const std::string text(1 << 20, 'x');
              // Until every buffer on the way is full, and stays so.
              std::size_t sent = 0;
              pollfd polled = {stuck.get(), POLLOUT, 0};
              while (::poll(&polled, 1, 300) == 1 && sent < (std::size_t{1} << 30U)) {
                const ssize_t count = ::send(stuck.get(), text.data(), text.size(), MSG_NOSIGNAL);
                if (count > 0) sent += static_cast<std::size_t>(count);
              }
              REQUIRE(sent < (std::size_t{1} << 30U));
              const UniqueFd other = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, other.get(), kRelayed, kEcho) == 0);
              REQUIRE(echoes(other.get(), "meanwhile"));
              // And then all of it comes.
              REQUIRE(::fcntl(stuck.get(), F_SETFL, 0) == 0);
              REQUIRE(::shutdown(stuck.get(), SHUT_WR) == 0);
              REQUIRE(receive(stuck.get(), sent + 1).size() == sent);
              return "";
            }),
            "");
}

TEST_F(RelayTest, NothingIsDoneWhileNothingHappens) {
  guard_.reset();
  sandbox_ = make_sandbox(6, 4);
  // A socket of the sandbox, used from here: nothing happens but what this test does.
  const UniqueFd echo = std::move(sandbox_.sockets.tcp.front());
  const UniqueFd greet = std::move(sandbox_.sockets.tcp[1]);
  sandbox_.sockets.tcp.erase(sandbox_.sockets.tcp.begin(), sandbox_.sockets.tcp.begin() + 2);
  Result<NetworkGuard> made = NetworkGuard::make(
      {.policy = *NetworkPolicy::allow_hosts({"192.0.2.0/24"})}, std::move(sandbox_.sockets));
  ASSERT_TRUE(made);
  const auto received = [&](int fd) {
    pollfd polled = {fd, POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  };
  const auto open = [&](int fd, std::uint16_t port) {
    const Address address = *parse_address(kRelayed);
    ASSERT_TRUE(made->prepare(address, port, Protocol::Tcp).allowed);
    const auto form = socket_address(address, port, AF_INET6);
    ASSERT_EQ(::connect(fd, form->get(), form->size), 0);
    ASSERT_EQ(::send(fd, "ping", 4, 0), 4);
    drive(*made, [&] { return received(fd); }, {});
    // Nothing is left to do, although both connections stay open and one has half ended.
    for (int i = 0; i < 100; ++i) made->serve();
    pollfd polled = {made->descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&polled, 1, 0), 0);
    EXPECT_FALSE(made->due());
  };
  open(echo.get(), kEcho);
  EXPECT_EQ(receive(echo.get(), 4), "ping");
  open(greet.get(), kGreet);

  // Nor while the client does not read, and every buffer on the way is full.
  const std::string text(1 << 16, 'x');
  bool is_quiet = false;
  for (int i = 0; i < 100000 && !is_quiet; ++i) {
    while (::send(echo.get(), text.data(), text.size(), MSG_DONTWAIT) > 0) {
    }
    pollfd polled = {made->descriptor(), POLLIN, 0};
    is_quiet = ::poll(&polled, 1, 300) == 0;
    made->serve();
  }
  EXPECT_TRUE(is_quiet);
}

}  // namespace
}  // namespace hermetic::guard::testing
