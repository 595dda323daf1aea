#include "hermetic/guard/network_guard.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <filesystem>

#include "tests/unit/guard/sandbox_client.h"

namespace hermetic::guard::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class NetworkGuardTest : public GuardTest {};

TEST_F(NetworkGuardTest, ANameIsReached) {
  start({"echo.test"});
  EXPECT_EQ(inside([](Observer& observer) { return reach(observer, "echo.test"); }), "");
  guard_->finish();
  EXPECT_THAT(told(), ElementsAre("allow resolve echo.test", "allow reach echo.test:7000",
                                  "none sent echo.test:7000", "none received echo.test:7000"));
  EXPECT_EQ(events_[1].endpoint->address, "192.0.2.10");
  EXPECT_EQ(events_[1].endpoint->name, "echo.test");
  EXPECT_EQ(events_[1].rule, "echo.test");
  EXPECT_EQ(events_[2].amount, 4U);
  EXPECT_EQ(guard_->traffic(),
            (std::vector<NetworkGuard::Destination>{{"echo.test", kEcho, Protocol::Tcp, 1, 4, 4}}));
}

// The limit of a run counts names, too: what is asked can be told to whoever answers.
TEST_F(NetworkGuardTest, BytesAreThoseOfNamesAndOfConnections) {
  start({"echo.test"});
  EXPECT_EQ(guard_->bytes(), 0U);
  EXPECT_EQ(inside([](Observer&) -> std::string {
              REQUIRE(resolve("echo.test").code == 0);
              return "";
            }),
            "");
  const std::uint64_t of_a_name = guard_->bytes();
  EXPECT_GT(of_a_name, 2 * std::string_view("echo.test").size());
  EXPECT_EQ(inside([](Observer& observer) { return reach(observer, "echo.test"); }), "");
  guard_->finish();
  EXPECT_EQ(guard_->bytes(), 2 * of_a_name + 8);  // it asks again, and gets its four bytes back
}

TEST_F(NetworkGuardTest, WhatIsNotAllowedIsRefusedByTheKernel) {
  start({"echo.test", "192.0.2.10:7001"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              for (const char* address : {"192.0.2.10", "192.0.2.11", "8.8.8.8", "10.0.0.5"}) {
                const UniqueFd fd = client_socket(SOCK_STREAM);
                REQUIRE(!observer.announce(address, kEcho));
                REQUIRE(connect_to(observer, fd.get(), address, kEcho) == ECONNREFUSED);
              }
              const UniqueFd six = client_socket(SOCK_STREAM, AF_INET6);
              REQUIRE(connect_to(observer, six.get(), "2001:db8::10", kEcho, Protocol::Tcp,
                                 AF_INET6) == ECONNREFUSED);
              return "";
            }),
            "");
  EXPECT_TRUE(events_.empty());  // the observer tells who it was
}

TEST_F(NetworkGuardTest, OtherNamesDoNotExist) {
  start({"echo.test", "none.test", "broken.test", "silent.test", "forged.test"});
  EXPECT_EQ(inside([](Observer&) -> std::string {
              REQUIRE(resolve("evil.test").code == 3);
              REQUIRE(resolve("sub.echo.test").code == 3);
              REQUIRE(resolve("echo.test.evil.test", kTypeAaaa).code == 3);
              REQUIRE(resolve("none.test").code == 3);
              REQUIRE(resolve("broken.test").code == 2);
              REQUIRE(resolve("silent.test").code == 2);
              REQUIRE(resolve("forged.test").code == 2);
              return "";
            }),
            "");
  EXPECT_THAT(told(), Contains("deny resolve evil.test"));
  EXPECT_THAT(told(), Contains("deny resolve sub.echo.test"));
  EXPECT_THAT(told(), Contains("allow resolve none.test"));
}

TEST_F(NetworkGuardTest, NamesAreLookedUpAsOutside) {
  start({"alias.test", "large.test", "file.test", "short", "*.wild.test", "six.test", "two.test"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              for (const char* name : {"alias.test", "large.test", "file.test", "short",
                                       "a.wild.test", "six.test", "two.test", "ALIAS.Test"})
                if (std::string problem = reach(observer, name); !problem.empty())
                  return name + (": " + problem);
              REQUIRE(resolve("b.wild.test").code == 3);
              REQUIRE(resolve("wild.test").code == 3);
              return "";
            }),
            "");
  EXPECT_THAT(told(), Contains("allow resolve b.wild.test"));
  EXPECT_THAT(told(), Contains("deny resolve wild.test"));
}

TEST_F(NetworkGuardTest, ANameKeepsItsAddress) {
  start({"echo.test", "file.test"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const std::string first = resolve("echo.test").address;
              REQUIRE(first == "198.18.0.1");
              REQUIRE(resolve("file.test").address == "198.18.0.2");
              REQUIRE(resolve("ECHO.test").address == first);
              REQUIRE(resolve("echo.test", kTypeAaaa).code == 0);
              REQUIRE(resolve("echo.test", kTypeAaaa).address.empty());
              REQUIRE(resolve("echo.test", 255).code == 0);
              // Nobody has asked for a third.
              REQUIRE(!observer.announce("198.18.0.3", kEcho));
              return "";
            }),
            "");
}

// For programs that insist on it.
TEST_F(NetworkGuardTest, ANameWithAnAddressOfIpv6HasOneInsideToo) {
  start({"six.test", "both.test", "echo.test"});
  EXPECT_EQ(
      inside([](Observer& observer) -> std::string {
        const std::string address = resolve("six.test", kTypeAaaa).address;
        REQUIRE(address == "fd68:6572:6d65:7469::1");
        const UniqueFd six = client_socket(SOCK_STREAM, AF_INET6);
        REQUIRE(connect_to(observer, six.get(), address.c_str(), kEcho, Protocol::Tcp, AF_INET6) ==
                0);
        REQUIRE(echoes(six.get(), "over six"));
        REQUIRE(resolve("six.test").address == "198.18.0.1");
        const UniqueFd both = client_socket(SOCK_STREAM, AF_INET6);
        REQUIRE(connect_to(observer, both.get(), resolve("both.test", kTypeAaaa).address.c_str(),
                           kEcho, Protocol::Tcp, AF_INET6) == 0);
        REQUIRE(echoes(both.get(), "over either"));
        REQUIRE(resolve("both.test").address == "198.18.0.2");
        REQUIRE(resolve("echo.test", kTypeAaaa).code == 0);
        REQUIRE(resolve("echo.test", kTypeAaaa).address.empty());
        // Of a name that nobody has asked for.
        REQUIRE(!observer.announce("fd68:6572:6d65:7469::4", kEcho));
        return "";
      }),
      "");
  EXPECT_THAT(told(), Contains("allow resolve six.test"));
  EXPECT_THAT(told(), Contains("allow reach six.test:7000"));
  EXPECT_THAT(told(), Contains("allow reach both.test:7000"));
}

TEST_F(NetworkGuardTest, ANameThatLeadsToAPrivateAddressIsRefused) {
  start({"private.test", "metadata.test", "mapped.test", "localhost"});
  EXPECT_EQ(inside([](Observer&) -> std::string {
              for (const char* name : {"private.test", "metadata.test", "mapped.test", "localhost"})
                REQUIRE(resolve(name).code == 3);
              return "";
            }),
            "");
  ASSERT_EQ(events_.size(), 4U);
  for (const Event& event : events_) EXPECT_EQ(event.verdict, Verdict::Deny) << event.subject;
  EXPECT_EQ(events_[0].detail, "10.0.0.5 is private, and no rule names it");
  EXPECT_EQ(events_[0].rule, "private.test");
}

TEST_F(NetworkGuardTest, UnlessARangeNamesIt) {
  start({"private.test", "10.0.0.0/24:7000", "localhost", "127.0.0.1:7000"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const std::string problem = reach(observer, "private.test");
              return problem.empty() ? reach(observer, "localhost") : problem;
            }),
            "");
}

TEST_F(NetworkGuardTest, TheRangeNamesItOnItsPortOnly) {
  start({"private.test", "10.0.0.0/24:7001"});
  EXPECT_THAT(inside([](Observer& observer) { return reach(observer, "private.test"); }),
              HasSubstr("no echo"));
  ASSERT_NE(event("reach", Verdict::Deny), nullptr);
}

TEST_F(NetworkGuardTest, OfSeveralAddressesThePublicOneIsDialled) {
  start({"mixed.test"});
  EXPECT_EQ(inside([](Observer& observer) { return reach(observer, "mixed.test"); }), "");
  ASSERT_NE(event("reach", Verdict::Allow), nullptr);
  EXPECT_EQ(event("reach", Verdict::Allow)->endpoint->address, "192.0.2.10");
}

TEST_F(NetworkGuardTest, ANameThatMovesBetweenLookupAndDialIsRefused) {
  start({"rebind.test"});
  EXPECT_EQ(inside([](Observer& observer) { return reach(observer, "rebind.test"); }),
            "no echo: Connection reset by peer");
  ASSERT_NE(event("reach", Verdict::Deny), nullptr);
  EXPECT_EQ(event("reach", Verdict::Deny)->detail, "10.0.0.5 is private, and no rule names it");
  EXPECT_EQ(event("reach", Verdict::Allow), nullptr);
}

TEST_F(NetworkGuardTest, PortsAreThoseOfTheRules) {
  start({"echo.test:7001", "file.test:7000", "192.0.2.10:7003"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              REQUIRE(reach(observer, "file.test") == "");
              REQUIRE(reach(observer, "echo.test") == "connect: Connection refused");
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), "192.0.2.10", kGreet) == 0);
              REQUIRE(receive(fd.get(), 6) == "hello");
              return "";
            }),
            "");
  const auto refused = guard_->prepare(*parse_address("198.18.0.2"), kEcho, Protocol::Tcp);
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.name, "echo.test");
}

TEST_F(NetworkGuardTest, LiteralsOfBothFamiliesAndMapped) {
  start({"192.0.2.10", "[2001:db8::10]:7000"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd six = client_socket(SOCK_STREAM, AF_INET6);
              REQUIRE(connect_to(observer, six.get(), "2001:db8::10", kEcho, Protocol::Tcp,
                                 AF_INET6) == 0);
              REQUIRE(echoes(six.get(), "over six"));
              const UniqueFd mapped = client_socket(SOCK_STREAM, AF_INET6);
              REQUIRE(connect_to(observer, mapped.get(), "::ffff:192.0.2.10", kEcho, Protocol::Tcp,
                                 AF_INET6) == 0);
              REQUIRE(echoes(mapped.get(), "mapped"));
              return "";
            }),
            "");
}

TEST_F(NetworkGuardTest, LoopbackIsTheSandboxesOwn) {
  start({"0.0.0.0/0", "::/0"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              REQUIRE(observer.announce("127.0.0.1", kEcho));
              const UniqueFd nobody = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, nobody.get(), "127.0.0.1", kEcho) == ECONNREFUSED);
              const UniqueFd server = bound_socket(SOCK_STREAM, "127.0.0.1", 8080);
              const UniqueFd client = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, client.get(), "127.0.0.1", 8080) == 0);
              return "";
            }),
            "");
  EXPECT_EQ(guard_->prepare(*parse_address("0.0.0.0"), 80, Protocol::Tcp).rule, "loopback");
}

TEST_F(NetworkGuardTest, EveryNameserverIsTheGuard) {
  start({"echo.test"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              REQUIRE(resolve("echo.test", kTypeA, "::1").code == 0);
              REQUIRE(resolve("echo.test", kTypeA, "192.0.2.53").code == -1);  // not announced
              REQUIRE(observer.announce("192.0.2.53", 53, Protocol::Udp));
              REQUIRE(resolve("echo.test", kTypeA, "192.0.2.53").code == 0);
              REQUIRE(observer.announce("2001:db8::53", 53, Protocol::Udp));
              REQUIRE(resolve("evil.test", kTypeA, "2001:db8::53").code == 3);
              REQUIRE(observer.announce("192.0.2.53", 53, Protocol::Udp));  // again
              return "";
            }),
            "");
}

TEST_F(NetworkGuardTest, UnlessARuleNamesItsPort) {
  start({"192.0.2.0/24", "198.51.100.53:53"});
  const auto rule_for = [&](const char* address) {
    return guard_->prepare(*parse_address(address), 53, Protocol::Udp).rule;
  };
  EXPECT_EQ(rule_for("192.0.2.53"), "resolver");
  EXPECT_EQ(rule_for("203.0.113.53"), "resolver");
  EXPECT_EQ(rule_for("198.51.100.53"), "198.51.100.53:53");
}

TEST_F(NetworkGuardTest, NamesAreAnsweredByStreamToo) {
  start({"echo.test", "silent.test"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), "127.0.0.1", 53) == 0);
              // Three questions at once, the last one byte by byte.
              std::string wire;
              for (const char* name : {"echo.test", "evil.test", "silent.test"}) {
                const Bytes query = build_dns_message(question_for(name));
                wire += '\0';
                wire += static_cast<char>(query.size());
                wire.append(query.begin(), query.end());
              }
              REQUIRE(send_all(fd.get(), wire.data(), wire.size() - 20));
              for (std::size_t i = wire.size() - 20; i < wire.size(); ++i)
                REQUIRE(send_all(fd.get(), wire.data() + i, 1));
              for (const int code : {0, 3, 2}) {
                const std::string size = receive(fd.get(), 2);
                REQUIRE(size.size() == 2);
                const std::string text = receive(fd.get(), static_cast<unsigned char>(size[1]));
                const auto reply = parse_dns_message(Bytes(text.begin(), text.end()));
                REQUIRE(reply && static_cast<int>(reply->code) == code);
              }
              return "";
            }),
            "");
}

// Or who never stops asking would keep the run from its limits.
// As programs do that ask for each name by a stream of its own ('options use-vc').
TEST_F(NetworkGuardTest, ManyStreamsAskAtOnce) {
  start({"echo.test"});
  EXPECT_EQ(
      inside([](Observer& observer) -> std::string {
        const Bytes query = build_dns_message(question_for("echo.test"));
        std::vector<UniqueFd> streams;
        for (int i = 0; i < 150; ++i) {
          streams.push_back(client_socket(SOCK_STREAM));
          REQUIRE(connect_to(observer, streams.back().get(), "127.0.0.1", 53) == 0);
        }
        for (const UniqueFd& stream : streams) {
          const std::array<std::uint8_t, 2> size = {0, static_cast<std::uint8_t>(query.size())};
          REQUIRE(send_all(stream.get(), size.data(), size.size()));
          REQUIRE(send_all(stream.get(), query.data(), query.size()));
        }
        for (const UniqueFd& stream : streams) REQUIRE(receive(stream.get(), 2).size() == 2);
        return "";
      }),
      "");
  EXPECT_THAT(told(), Not(Contains("deny resolve an unreadable question")));
}

TEST_F(NetworkGuardTest, AStreamOfQuestionsHasTurns) {
  sandbox_ = make_sandbox(4, 4);
  // A socket of the sandbox, used from here: nothing happens but what this test does.
  const UniqueFd fd = std::move(sandbox_.sockets.tcp.front());
  sandbox_.sockets.tcp.erase(sandbox_.sockets.tcp.begin());
  Result<NetworkGuard> made = NetworkGuard::make(
      {.policy = *NetworkPolicy::allow_hosts({"echo.test"}),
       .tell = [this](const Event& event, const Who&) { events_.push_back(event); }},
      std::move(sandbox_.sockets));
  ASSERT_TRUE(made);
  const auto resolver = socket_address(*parse_address("127.0.0.1"), 53, AF_INET6);
  ASSERT_EQ(::connect(fd.get(), resolver->get(), resolver->size), 0);
  const Bytes query = build_dns_message(question_for("evil.test"));
  constexpr std::size_t kQuestions = 1000;
  Bytes stream;
  for (std::size_t i = 0; i < kQuestions; ++i) {
    stream.push_back(0);
    stream.push_back(static_cast<std::uint8_t>(query.size()));
    stream.insert(stream.end(), query.begin(), query.end());
  }
  ASSERT_EQ(::send(fd.get(), stream.data(), stream.size(), MSG_DONTWAIT),
            static_cast<ssize_t>(stream.size()));
  std::size_t most = 0;
  for (std::size_t i = 0; i < kQuestions; ++i) {
    const std::size_t before = events_.size();
    made->serve();
    most = std::max(most, events_.size() - before);
  }
  EXPECT_LE(most, 256U);
  EXPECT_EQ(events_.size(), kQuestions);
  EXPECT_EQ(receive(fd.get(), stream.size()).size(), stream.size());
}

TEST_F(NetworkGuardTest, MalformedQuestionsAreAnsweredAsSuchOrNotAtAll) {
  start({"echo.test"});
  EXPECT_EQ(inside([](Observer&) -> std::string {
              const Bytes whole = build_dns_message(question_for("echo.test"));
              const auto code_of = [](const std::optional<Bytes>& reply) {
                return reply && reply->size() >= 12 ? (*reply)[3] & 0xF : -1;
              };
              for (auto end = whole.begin() + 12; end != whole.end(); ++end)
                REQUIRE(code_of(ask_by_datagram(Bytes(whole.begin(), end))) == 1);
              DnsMessage two = question_for("echo.test");
              two.questions.push_back(two.questions[0]);
              REQUIRE(code_of(ask_by_datagram(build_dns_message(two))) == 1);
              DnsMessage other = question_for("echo.test");
              other.operation = 5;
              REQUIRE(code_of(ask_by_datagram(build_dns_message(other))) == 4);
              DnsMessage chaos = question_for("version.bind");
              chaos.questions[0].record_class = 3;
              REQUIRE(code_of(ask_by_datagram(build_dns_message(chaos))) == 4);
              // No reply to what is too short or is a reply itself: the next question is answered
              // first.
              const UniqueFd fd = client_socket(SOCK_DGRAM);
              const SocketAddress server = socket_address(*parse_address("127.0.0.1"), 53);
              REQUIRE(::connect(fd.get(), server.get(), server.size) == 0);
              Bytes response = whole;
              response[2] |= 0x80;
              response[0] = 0;
              for (const Bytes& bytes :
                   {Bytes(whole.begin(), whole.begin() + 11), Bytes{}, response, whole})
                REQUIRE(::send(fd.get(), bytes.data(), bytes.size(), 0) >= 0);
              REQUIRE(receive(fd.get(), 1) == std::string(1, '\x47'));
              return "";
            }),
            "");
}

TEST_F(NetworkGuardTest, MakesMoreSocketsWhenTheyAreUsedUp) {
  start({"192.0.2.0/24"}, 4, 4);
  EXPECT_EQ(
      inside([](Observer& observer) -> std::string {
        for (std::uint16_t port = 1; port <= 150; ++port) {
          if (port == 53) continue;
          REQUIRE(observer.announce("192.0.2.10", port));
          REQUIRE(observer.announce("192.0.2.10", port, Protocol::Udp));
        }
        const UniqueFd stream = client_socket(SOCK_STREAM);
        REQUIRE(connect_to(observer, stream.get(), "192.0.2.10", kEcho) == 0);
        REQUIRE(echoes(stream.get(), "late"));
        const UniqueFd datagrams = client_socket(SOCK_DGRAM);
        REQUIRE(connect_to(observer, datagrams.get(), "192.0.2.10", kEcho, Protocol::Udp) == 0);
        REQUIRE(echoes(datagrams.get(), "late"));
        return "";
      }),
      "");
}

TEST_F(NetworkGuardTest, WithoutSocketsDestinationsAreRefused) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 250;  // half of it is not enough for more sockets
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  start({"192.0.2.0/24"}, 4, 4);  // the resolver has taken two of each
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              REQUIRE(observer.announce("192.0.2.10", kEcho));
              REQUIRE(observer.announce("192.0.2.10", kCount));
              REQUIRE(observer.announce("192.0.2.10", kCount));
              REQUIRE(!observer.announce("192.0.2.10", kGreet));
              REQUIRE(observer.announce("192.0.2.10", kEcho, Protocol::Udp));
              REQUIRE(observer.announce("192.0.2.10", 53, Protocol::Udp));
              REQUIRE(!observer.announce("192.0.2.11", 53, Protocol::Udp));
              const UniqueFd fd = client_socket(SOCK_STREAM);
              REQUIRE(connect_to(observer, fd.get(), "192.0.2.10", kEcho) == 0);
              REQUIRE(echoes(fd.get(), "still"));
              return "";
            }),
            "");
  const auto refused = guard_->prepare(*parse_address("192.0.2.10"), kGreet, Protocol::Tcp);
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.rule, "192.0.2.0/24");
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(guard_->prepare(*parse_address("192.0.2.10"), kGreet, Protocol::Tcp).allowed);
  EXPECT_EQ(refused.detail, "all 4 sockets that a run has for allowed destinations are in use");
  EXPECT_THAT(refused.remedy, HasSubstr("fewer destinations"));
}

TEST_F(NetworkGuardTest, APortThatTheCommandListensOnIsNotTaken) {
  start({"192.0.2.10"});
  EXPECT_EQ(inside([](Observer& observer) -> std::string {
              const UniqueFd own = bound_socket(SOCK_STREAM, "0.0.0.0", kEcho);
              REQUIRE(!observer.announce("192.0.2.10", kEcho));
              REQUIRE(observer.announce("192.0.2.10", kCount));
              return "";
            }),
            "");
}

TEST_F(NetworkGuardTest, WithoutAnySocketThereIsNoGuard) {
  EXPECT_FALSE(NetworkGuard::make({}, {}));
}

TEST_F(NetworkGuardTest, NoDescriptorIsLeft) {
  start({"echo.test", "192.0.2.10"});
  const auto count = [] {
    const std::filesystem::directory_iterator fds("/proc/self/fd");
    return std::distance(begin(fds), end(fds));
  };
  const auto body = [](Observer& observer) -> std::string {
    for (int i = 0; i < 20; ++i) {
      if (std::string problem = reach(observer, "echo.test"); !problem.empty()) return problem;
      const UniqueFd fd = client_socket(SOCK_STREAM);
      REQUIRE(connect_to(observer, fd.get(), "192.0.2.10", kReset) == 0);
      REQUIRE(send_all(fd.get(), "x", 1));
      REQUIRE(receive(fd.get(), 1).empty());
      const UniqueFd refused = client_socket(SOCK_STREAM);
      REQUIRE(connect_to(observer, refused.get(), "192.0.2.10", kNobody) == 0);
      REQUIRE(receive(refused.get(), 1).empty());
    }
    return "";
  };
  EXPECT_EQ(inside(body), "");
  guard_->finish();
  const auto before = count();
  EXPECT_EQ(inside(body), "");
  guard_->finish();
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace hermetic::guard::testing
