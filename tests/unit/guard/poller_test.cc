// A guard lives in a process that needs descriptors for other things: to look at processes, to hear
// of their calls, to keep their limits. What the command does must not use them up.
#include <sys/resource.h>

#include <climits>

#include "tests/unit/guard/sandbox_client.h"

namespace hermetic::guard::testing {
namespace {

constexpr const char* kServer = "192.0.2.10";

// The number that the next descriptor gets.
int next_descriptor() {
  const UniqueFd next(::fcntl(0, F_DUPFD_CLOEXEC, 0));
  return next.is_open() ? next.get() : INT_MAX;
}

class DescriptorsTest : public GuardTest {
 protected:
  void SetUp() override {
    GuardTest::SetUp();
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
  }
  void TearDown() override {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    GuardTest::TearDown();
  }
  void allow(int descriptors) const {
    const rlimit limit = {.rlim_cur = static_cast<rlim_t>(descriptors),
                          .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  // The most that are taken, while `body` runs inside.
  int most_taken(const std::function<std::string(Observer&)>& body) {
    sandbox_ = make_sandbox(8, 8);
    int most = 0;
    Result<NetworkGuard> made = NetworkGuard::make(
        {.policy = *NetworkPolicy::allow_hosts({"192.0.2.0/24"}),
         .tell = [&](const Event&, const Who&) { most = std::max(most, next_descriptor()); },
         .most_connections = 500},
        std::move(sandbox_.sockets));
    EXPECT_TRUE(made);
    guard_.emplace(std::move(*made));
    EXPECT_EQ(inside(body), "");
    return most;
  }

  rlimit before_ = {};
};

TEST_F(DescriptorsTest, SomeAreLeftForOthers) {
  constexpr int kLimit = 1024;
  allow(kLimit);
  const int most = most_taken([](Observer& observer) -> std::string {
    std::vector<UniqueFd> fds;
    for (int i = 0; i < 500; ++i) {
      fds.push_back(client_socket(SOCK_STREAM));
      REQUIRE(connect_to(observer, fds.back().get(), kServer, kEcho) == 0);
    }
    // The last one has its turn when there is room again.
    fds.erase(fds.begin(), fds.end() - 1);
    REQUIRE(echoes(fds.back().get(), "ping"));
    return "";
  });
  EXPECT_GT(most, kLimit / 2) << "it was tried";
  EXPECT_LT(most, kLimit * 3 / 4 + 4);
}

TEST_F(DescriptorsTest, NobodyIsBusyWaitingForOne) {
  sandbox_ = make_sandbox(8, 8);
  const UniqueFd fd = std::move(sandbox_.sockets.tcp.back());
  sandbox_.sockets.tcp.pop_back();
  Result<NetworkGuard> made = NetworkGuard::make(
      {.policy = *NetworkPolicy::allow_hosts({"192.0.2.0/24"})}, std::move(sandbox_.sockets));
  ASSERT_TRUE(made);
  const auto resolver = socket_address(*parse_address("127.0.0.1"), 53, AF_INET6);
  ASSERT_EQ(::connect(fd.get(), resolver->get(), resolver->size), 0);
  allow(next_descriptor());
  for (int i = 0; i < 10; ++i) made->serve();
  pollfd polled = {made->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&polled, 1, 0), 0);
  EXPECT_TRUE(made->due());
  ::setrlimit(RLIMIT_NOFILE, &before_);
  const Bytes query = build_dns_message(question_for("evil.test"));
  const std::array<std::uint8_t, 2> size = {0, static_cast<std::uint8_t>(query.size())};
  ASSERT_TRUE(send_all(fd.get(), size.data(), size.size()));
  ASSERT_TRUE(send_all(fd.get(), query.data(), query.size()));
  const auto is_answered = [&] {
    pollfd answer = {fd.get(), POLLIN, 0};
    return ::poll(&answer, 1, 0) == 1;
  };
  drive(*made, is_answered, {});
  EXPECT_TRUE(is_answered());
}

}  // namespace
}  // namespace hermetic::guard::testing
