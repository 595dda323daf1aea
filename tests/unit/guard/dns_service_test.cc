// Questions by stream, as a command asks them that does not care for answers: each is told.
#include "hermetic/guard/dns_service.h"

#include <gmock/gmock.h>

#include "tests/unit/guard/sandbox_client.h"

namespace hermetic::guard::testing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

Bytes in_stream(const Bytes& query) {
  Bytes bytes = {static_cast<std::uint8_t>(query.size() >> 8U),
                 static_cast<std::uint8_t>(query.size())};
  bytes.insert(bytes.end(), query.begin(), query.end());
  return bytes;
}
Bytes asked_for(const std::vector<std::string>& names) {
  Bytes bytes;
  for (const std::string& name : names) {
    const Bytes query = in_stream(build_dns_message(question_for(name)));
    bytes.insert(bytes.end(), query.begin(), query.end());
  }
  return bytes;
}

// The sockets of the sandbox are used from here: nothing happens but what the test does.
class DnsServiceTest : public GuardTest {
 protected:
  // Connected to the resolver, which has accepted it.
  UniqueFd begin(int type) {
    sandbox_ = make_sandbox(4, 4);
    auto& sockets = type == SOCK_STREAM ? sandbox_.sockets.tcp : sandbox_.sockets.udp;
    UniqueFd fd = std::move(sockets.front());
    sockets.erase(sockets.begin());
    NetworkGuard::Options options;
    options.policy = *NetworkPolicy::allow_hosts({"file.test", "silent.test", "*.slow.test"});
    options.hosts_file = directory_ + "/hosts";
    options.resolver_file = directory_ + "/resolv.conf";
    options.tell = [this](const Event& event, const Who&) {
      std::this_thread::sleep_for(time_to_tell_);
      events_.push_back(event);
    };
    Result<NetworkGuard> made = NetworkGuard::make(std::move(options), std::move(sandbox_.sockets));
    if (!made) return {};
    guard_.emplace(std::move(*made));
    const auto resolver = socket_address(*parse_address("127.0.0.1"), 53, AF_INET6);
    if (::connect(fd.get(), resolver->get(), resolver->size) != 0) return {};
    guard_->serve();
    return fd;
  }
  static bool send(const UniqueFd& fd, const Bytes& bytes) {
    return ::send(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void serve() {
    for (int i = 0; i < 5; ++i) guard_->serve();
  }
  std::vector<std::string> reasons() const {
    std::vector<std::string> found;
    for (const Event& event : events_)
      if (event.verdict == Verdict::Deny) found.push_back(event.detail);
    return found;
  }

  std::chrono::milliseconds time_to_tell_{0};
};

TEST_F(DnsServiceTest, WhoDoesNotTakeAnAnswerIsHeardToTheEnd) {
  UniqueFd fd = begin(SOCK_STREAM);
  ASSERT_TRUE(fd.is_open());
  ASSERT_TRUE(send(fd, asked_for({"file.test", "evil.test"})));
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  fd.reset();
  serve();
  EXPECT_THAT(told(), Contains("allow resolve file.test"));
  EXPECT_THAT(told(), Contains("deny resolve evil.test"));
}

TEST_F(DnsServiceTest, WhatIsAskedBehindASlowNameIsToldInTheEnd) {
  const UniqueFd fd = begin(SOCK_STREAM);
  ASSERT_TRUE(fd.is_open());
  ASSERT_TRUE(send(fd, asked_for({"silent.test", "evil.test"})));
  serve();
  EXPECT_THAT(told(), Not(Contains("deny resolve evil.test"))) << "one after the other";
  guard_->hear_out(Clock::now() + std::chrono::seconds(20));
  EXPECT_THAT(told(), Contains("deny resolve evil.test"));
  guard_->finish();
  EXPECT_THAT(told(), Contains("none resolve silent.test"));
}

TEST_F(DnsServiceTest, HalfAQuestionIsTold) {
  for (const bool is_closed : {true, false}) {
    events_.clear();
    UniqueFd fd = begin(SOCK_STREAM);
    ASSERT_TRUE(fd.is_open());
    Bytes half = asked_for({"evil.test"});
    half.pop_back();
    ASSERT_TRUE(send(fd, half));
    if (is_closed) fd.reset();
    serve();
    if (!is_closed) guard_->hear_out(Clock::now() + std::chrono::seconds(20));
    EXPECT_THAT(told(), Contains("deny resolve an unreadable question"));
    EXPECT_THAT(reasons(), Contains("it was not asked to the end"));
  }
}

TEST_F(DnsServiceTest, ThatNobodyCameToReadThemIsTold) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    events_.clear();
    const UniqueFd fd = begin(type);
    ASSERT_TRUE(fd.is_open());
    const Bytes query = build_dns_message(question_for("evil.test"));
    ASSERT_TRUE(send(fd, type == SOCK_STREAM ? in_stream(query) : query));
    guard_->hear_out(Clock::now());  // no time is left
    EXPECT_THAT(reasons(), Contains("the run was over before it was read"));
  }
}

TEST_F(DnsServiceTest, HowManyNobodyCameToReadIsTold) {
  const UniqueFd fd = begin(SOCK_DGRAM);
  ASSERT_TRUE(fd.is_open());
  const Bytes query = build_dns_message(question_for("evil.test"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(fd, query));
  guard_->hear_out(Clock::now());  // no time is left
  EXPECT_THAT(reasons(), Contains("the run was over before 3 of them were read"));
}

TEST_F(DnsServiceTest, OfAStreamThatWasReadThereIsNothingToTell) {
  const UniqueFd fd = begin(SOCK_STREAM);
  ASSERT_TRUE(fd.is_open());
  ASSERT_TRUE(send(fd, asked_for({"file.test"})));
  serve();
  guard_->hear_out(Clock::now());  // no time is left, and it is still open
  EXPECT_THAT(told(), Contains("allow resolve file.test"));
  EXPECT_THAT(reasons(), IsEmpty());
}

// By one socket, and faster than we are given a turn.
TEST_F(DnsServiceTest, TakesAllNamesOfAProgramAtOnce) {
  const UniqueFd fd = begin(SOCK_DGRAM);
  ASSERT_TRUE(fd.is_open());
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(send(fd, build_dns_message(question_for("file.test"))));
  for (int i = 0; i < 20; ++i) guard_->serve();
  EXPECT_THAT(reasons(), IsEmpty());
}

// What waits for us is in memory that no limit of the run counts.
TEST_F(DnsServiceTest, TakesLessWhereAProgramHasNamedManyNameservers) {
  const UniqueFd fd = begin(SOCK_DGRAM);
  ASSERT_TRUE(fd.is_open());
  for (int i = 1; i <= 20; ++i)
    ASSERT_TRUE(
        guard_->prepare(ipv4_address(0x0A000000U + static_cast<unsigned>(i)), 53, Protocol::Udp)
            .allowed);
  for (const bool is_early : {true, false}) {
    const auto server =
        socket_address(*parse_address(is_early ? "10.0.0.1" : "10.0.0.20"), 53, AF_INET6);
    ASSERT_EQ(::connect(fd.get(), server->get(), server->size), 0);
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(send(fd, build_dns_message(question_for("file.test"))));
    for (int i = 0; i < 20; ++i) guard_->serve();
    EXPECT_EQ(reasons().empty(), is_early);
  }
}

// Or a command fills our memory with questions, faster than any nameserver answers.
TEST_F(DnsServiceTest, HasARoomForThoseWhoWait) {
  const UniqueFd silent = bound_socket(SOCK_DGRAM, "192.0.2.10", 53);
  std::ofstream(directory_ + "/resolv.conf") << "nameserver 192.0.2.10\noptions timeout:30\n";
  const UniqueFd fd = begin(SOCK_DGRAM);
  ASSERT_TRUE(fd.is_open());
  constexpr int kNames = 10;
  constexpr int kTimes = 500;
  for (int i = 0; i < kTimes; ++i) {
    for (int name = 0; name < kNames; ++name)
      ASSERT_TRUE(
          send(fd, build_dns_message(question_for("n" + std::to_string(name) + ".slow.test"))));
    serve();
  }
  ASSERT_EQ(events_.size(), 5000U - 4096U);
  EXPECT_EQ(events_.back().detail, "too many names are looked up at once");
  guard_->finish();
  EXPECT_EQ(events_.size(), 5000U);
}

// However long each of them takes: who drives the guard has limits to keep.
TEST_F(DnsServiceTest, HasTurnsOfSomeMilliseconds) {
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const UniqueFd fd = begin(type);
    ASSERT_TRUE(fd.is_open());
    events_.clear();
    time_to_tell_ = std::chrono::milliseconds(30);
    constexpr std::size_t kQuestions = 8;
    for (std::size_t i = 0; i < kQuestions; ++i) {
      const Bytes query = build_dns_message(question_for("n" + std::to_string(i) + ".evil.test"));
      ASSERT_TRUE(send(fd, type == SOCK_STREAM ? in_stream(query) : query));
    }
    std::size_t most = 0;
    for (std::size_t i = 0; i < 2 * kQuestions; ++i) {
      const std::size_t before = events_.size();
      guard_->serve();
      most = std::max(most, events_.size() - before);
    }
    EXPECT_EQ(most, 1U);
    EXPECT_EQ(events_.size(), kQuestions);
    time_to_tell_ = {};
  }
}

}  // namespace
}  // namespace hermetic::guard::testing
