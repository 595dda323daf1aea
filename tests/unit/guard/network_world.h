// The servers of the world that stands outside of a sandbox: echo, others with a temper, and DNS.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hermetic/guard/dns_message.h"
#include "tests/unit/guard/network_namespaces.h"
#include "tests/unit/spec/must_work.h"

namespace hermetic::guard::testing {

inline constexpr std::uint16_t kEcho = 7000;   // sends back what it gets, and ends when that ends
inline constexpr std::uint16_t kCount = 7001;  // reads to the end, then says how many bytes it was
inline constexpr std::uint16_t kReset = 7002;  // resets after the first byte
inline constexpr std::uint16_t kGreet = 7003;  // speaks first, and ends
inline constexpr std::uint16_t kNobody = 7009;

inline UniqueFd bound_socket(int type, std::string_view address, std::uint16_t port) {
  const SocketAddress form = socket_address(*parse_address(address), port);
  UniqueFd socket(::socket(form.storage.ss_family, type | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
  EXPECT_EQ(::bind(socket.get(), form.get(), form.size), 0) << address << ' ' << strerror(errno);
  if (type == SOCK_STREAM) {
    EXPECT_EQ(::listen(socket.get(), 512), 0);
  }
  return socket;
}

inline bool send_all(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = ::send(fd, at, size, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

inline void converse(std::uint16_t port, UniqueFd fd) {
  std::vector<char> buffer(1 << 18);
  std::uint64_t sum = 0;
  if (port == kGreet) {
    send_all(fd.get(), "hello", 5);
    return;
  }
  for (ssize_t count = 0; (count = ::recv(fd.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    sum += static_cast<std::uint64_t>(count);
    if (port == kEcho && !send_all(fd.get(), buffer.data(), static_cast<std::size_t>(count)))
      return;
    if (port != kReset) continue;
    const linger abrupt = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
    return;
  }
  const std::string text = std::to_string(sum);
  if (port == kCount) send_all(fd.get(), text.data(), text.size());
}

inline void echo_datagrams(int fd) {
  std::vector<char> buffer(65536);
  for (;;) {
    sockaddr_storage from = {};
    socklen_t size = sizeof from;
    const ssize_t count =
        ::recvfrom(fd, buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (count >= 0)
      ::sendto(fd, buffer.data(), static_cast<std::size_t>(count), 0,
               reinterpret_cast<sockaddr*>(&from), size);
  }
}

// What the world's nameserver knows. TTL 0: the guard asks again each time.
class Nameserver {
 public:
  // Nothing: no reply.
  std::optional<Bytes> reply(const Bytes& query, bool by_stream) {
    const std::optional<DnsMessage> asked = parse_dns_message(query);
    if (!asked || asked->questions.size() != 1) return {};
    const DnsQuestion& question = asked->questions[0];
    const std::string name = lower_case(question.name);
    DnsMessage reply = *asked;
    reply.is_response = true;
    if (name == "silent.test") return {};
    if (name == "broken.test") reply.code = ResponseCode::ServerFailure;
    if (name == "forged.test" && question.type == kTypeA) ++reply.id;
    if (name == "large.test" && !by_stream) reply.is_truncated = true;
    static const std::map<std::string, std::vector<const char*>> kNames = {
        {"echo.test", {"192.0.2.10"}},
        {"large.test", {"192.0.2.10"}},
        {"forged.test", {"192.0.2.10"}},
        {"a.wild.test", {"192.0.2.10"}},
        {"two.test", {"192.0.2.77", "192.0.2.10"}},  // nobody is at the first
        {"six.test", {"2001:db8::10"}},
        {"both.test", {"192.0.2.10", "2001:db8::10"}},
        {"private.test", {"10.0.0.5"}},
        {"mixed.test", {"10.0.0.5", "192.0.2.10"}},
        {"metadata.test", {"169.254.169.254"}},
        {"mapped.test", {"::ffff:10.0.0.5"}},
        {"short.corp.test", {"192.0.2.10"}}};
    if (name == "rebind.test") {
      if (question.type == kTypeA)
        add(reply, question.name, rebound_++ == 0 ? "192.0.2.10" : "10.0.0.5");
    } else if (name == "alias.test") {
      reply.answers.push_back(
          {.name = question.name, .type = kTypeAlias, .data = {}, .alias = "Echo.Test"});
      if (question.type == kTypeA) add(reply, "echo.test", "192.0.2.10");
    } else if (const auto known = kNames.find(name); known != kNames.end()) {
      for (const char* text : known->second)
        if (!reply.is_truncated && (question.type == kTypeA) == (std::strchr(text, ':') == nullptr))
          add(reply, question.name, text);
    } else if (reply.code == ResponseCode::NoError) {
      reply.code = ResponseCode::NoSuchName;
    }
    return build_dns_message(reply);
  }

 private:
  static void add(DnsMessage& reply, const std::string& name, const char* text) {
    const Address address = *parse_address(text);
    const bool short_form = std::strchr(text, ':') == nullptr;
    reply.answers.push_back({.name = name,
                             .type = short_form ? kTypeA : kTypeAaaa,
                             .time_to_live = 0,
                             .data = Bytes(address.begin() + (short_form ? 12 : 0), address.end()),
                             .alias = {}});
  }
  int rebound_ = 0;
};

inline void serve_names(int datagrams, int streams) {
  Nameserver names;
  for (;;) {
    std::array<pollfd, 2> polled = {{{datagrams, POLLIN, 0}, {streams, POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), -1);
    Bytes query(4096);
    if (polled[0].revents != 0) {
      sockaddr_storage from = {};
      socklen_t size = sizeof from;
      auto* client = reinterpret_cast<sockaddr*>(&from);
      const ssize_t count = ::recvfrom(datagrams, query.data(), query.size(), 0, client, &size);
      query.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      if (const auto reply = names.reply(query, false))
        ::sendto(datagrams, reply->data(), reply->size(), 0, client, size);
    } else if (polled[1].revents != 0) {
      const UniqueFd client(::accept(streams, nullptr, nullptr));
      std::array<std::uint8_t, 2> size = {};
      ::recv(client.get(), size.data(), 2, MSG_WAITALL);
      query.resize(std::size_t{size[0]} << 8U | size[1]);
      ::recv(client.get(), query.data(), query.size(), MSG_WAITALL);
      if (const auto reply = names.reply(query, true)) {
        size = {static_cast<std::uint8_t>(reply->size() >> 8U),
                static_cast<std::uint8_t>(reply->size())};
        send_all(client.get(), size.data(), 2);
        send_all(client.get(), reply->data(), reply->size());
      }
    }
  }
}

// All of them, in a process of their own.
class World {
 public:
  World() {
    std::vector<std::pair<std::uint16_t, UniqueFd>> listeners;
    for (const char* address : {"192.0.2.10", "2001:db8::10", "10.0.0.5", "127.0.0.1"})
      for (const std::uint16_t port : std::vector<std::uint16_t>{kEcho, kCount, kReset, kGreet})
        listeners.emplace_back(port, bound_socket(SOCK_STREAM, address, port));
    std::vector<UniqueFd> datagrams;
    for (const char* address : {"192.0.2.10", "2001:db8::10", "10.0.0.5"})
      datagrams.push_back(bound_socket(SOCK_DGRAM, address, kEcho));
    const UniqueFd names = bound_socket(SOCK_DGRAM, "127.0.0.1", 53);
    const UniqueFd name_streams = bound_socket(SOCK_STREAM, "127.0.0.1", 53);
    process_ = ::fork();
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<std::thread> threads;
    for (const auto& [port, fd] : listeners)
      threads.emplace_back([port = port, listener = fd.get()] {
        for (;;) {
          const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
          if (client >= 0) std::thread(converse, port, UniqueFd(client)).detach();
        }
      });
    for (const UniqueFd& fd : datagrams) threads.emplace_back(echo_datagrams, fd.get());
    serve_names(names.get(), name_streams.get());
    ::_exit(0);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_ = -1;
};

// A sandbox with a guard, in a world.
class GuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string problem = enter_world();
    if (!problem.empty() && must_work()) FAIL() << problem;
    if (!problem.empty()) GTEST_SKIP() << problem;
    world_ = std::make_unique<World>();
    directory_ = ::testing::TempDir() + "guard-XXXXXX";
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    std::ofstream(directory_ + "/hosts") << "192.0.2.10 file.test\n127.0.0.1 localhost\n";
    std::ofstream(directory_ + "/resolv.conf")
        << "nameserver 127.0.0.1\nsearch corp.test\noptions timeout:1 attempts:1\n";
  }
  void TearDown() override {
    ::unlink((directory_ + "/hosts").c_str());
    ::unlink((directory_ + "/resolv.conf").c_str());
    ::rmdir(directory_.c_str());
  }

  void start(const std::vector<std::string>& rules, std::size_t tcp = 16, std::size_t udp = 16,
             std::size_t most_connections = 256) {
    sandbox_ = make_sandbox(tcp, udp);
    Result<NetworkPolicy> policy = NetworkPolicy::allow_hosts(rules);
    ASSERT_TRUE(policy);
    NetworkGuard::Options options;
    options.policy = *policy;
    options.hosts_file = directory_ + "/hosts";
    options.resolver_file = directory_ + "/resolv.conf";
    options.tell = [this](const Event& event, const Who&) { events_.push_back(event); };
    options.most_connections = most_connections;
    Result<NetworkGuard> made = NetworkGuard::make(std::move(options), std::move(sandbox_.sockets));
    ASSERT_TRUE(made) << to_string(made.error());
    guard_.emplace(std::move(*made));
  }
  std::string inside(const std::function<std::string(Observer&)>& body) {
    return run_inside(*guard_, sandbox_, body);
  }
  // "deny resolve evil.test", of all events.
  std::vector<std::string> told() const {
    std::vector<std::string> lines;
    for (const Event& event : events_)
      lines.push_back(std::string(to_string(event.verdict)) + ' ' + event.act + ' ' +
                      event.subject);
    return lines;
  }
  const Event* event(std::string_view act, Verdict verdict) const {
    for (const Event& one : events_)
      if (one.act == act && one.verdict == verdict) return &one;
    return nullptr;
  }

  std::unique_ptr<World> world_;
  std::string directory_;
  Sandbox sandbox_;
  std::vector<Event> events_;
  std::optional<NetworkGuard> guard_;
};

}  // namespace hermetic::guard::testing
