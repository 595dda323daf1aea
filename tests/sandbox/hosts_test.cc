// Allowed hosts, for programs that know nothing of it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>

#include "tests/sandbox/world.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What the command says, and then what it tried and may not.
std::string said(Words command, const Words& hosts) {
  const SpecBuilder builder =
      sandboxed(std::move(command)).network(NetworkPolicy::allow_hosts(hosts).value());
  const Result<Finished> finished = try_run(builder);
  if (!finished) return to_string(finished.error());
  std::string text = finished->outcome.standard_output.text + finished->outcome.standard_error.text;
  for (const Violation& violation : finished->outcome.violations)
    text += "| " + violation.act + " " + violation.subject;
  return text;
}
std::string asked(const Words& command, const Words& hosts) {
  return in_world([&] { return said(command, hosts); });
}
std::string fetched(const std::string& address, const Words& hosts) {
  return asked({"curl", "-sS", "-m", "20", address}, hosts);
}
std::string python(const std::string& script, const Words& hosts) {
  return asked({"/usr/bin/python3", "-c", "import socket, select\n" + script}, hosts);
}

class AllowedHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_ANSWERED(ask_with_own_mounts([] { return std::string("yes"); }));
  }
};

TEST_F(AllowedHosts, AreReachedAndNobodyElseIs) {
  EXPECT_EQ(fetched("http://web.example.org/", {"web.example.org:80"}), "page for web.example.org");
  EXPECT_THAT(fetched("http://other.example.org/", {"web.example.org:80"}),
              HasSubstr("| resolve other.example.org"));
  EXPECT_THAT(fetched("http://web.example.org/", {"web.example.org:81"}),
              HasSubstr("| connect web.example.org:80/tcp"));
  EXPECT_THAT(fetched("http://192.0.2.80/", {"web.example.org"}),
              HasSubstr("| connect 192.0.2.80:80/tcp"))
      << "a name does not allow its address";
}

TEST_F(AllowedHosts, AreNamesBelowADomainToo) {
  EXPECT_EQ(fetched("http://www.sub.example.org/", {"*.example.org"}),
            "page for www.sub.example.org");
}

TEST_F(AllowedHosts, AreRangesOfAddresses) {
  EXPECT_EQ(fetched("http://192.0.2.80/", {"192.0.2.0/24:80"}), "page for 192.0.2.80");
  EXPECT_THAT(fetched("http://10.0.0.1/", {"192.0.2.0/24:80"}),
              HasSubstr("| connect 10.0.0.1:80/tcp"));
  EXPECT_EQ(fetched("http://[2001:db8::80]/", {"[2001:db8::]/32"}), "page for [2001:db8::80]");
  EXPECT_EQ(fetched("http://six.example.org/", {"six.example.org"}), "page for six.example.org");
  EXPECT_EQ(
      asked({"curl", "-6", "-sS", "-m", "20", "http://six.example.org/"}, {"six.example.org"}),
      "page for six.example.org");
  for (const char* family : {"-4", "-6"})
    EXPECT_EQ(asked({"curl", family, "-sS", "-m", "20", "http://both.example.org/"},
                    {"both.example.org"}),
              "page for both.example.org");
  EXPECT_EQ(python("print(socket.getaddrinfo('six.example.org', 80, socket.AF_INET6)[0][4][0])",
                   {"six.example.org"}),
            "fd68:6572:6d65:7469::1\n");
}

// DNS rebinding: whoever owns the name does not own the network here.
TEST_F(AllowedHosts, AreNotThosePrivateAddressesThatANameLeadsTo) {
  EXPECT_THAT(fetched("http://inside.example.org/", {"inside.example.org"}),
              Not(HasSubstr("page for")));
  EXPECT_EQ(fetched("http://inside.example.org/", {"inside.example.org", "10.0.0.1"}),
            "page for inside.example.org");
}

TEST_F(AllowedHosts, AreReachedByProgramsAsTheyAre) {
  const Words hosts = {"web.example.org:80", "web.example.org:7"};
  if (exists("/usr/bin/wget") || must_work()) {
    EXPECT_EQ(asked({"wget", "-q", "-O", "-", "http://web.example.org/"}, hosts),
              "page for web.example.org");
  }
  if (exists("/usr/bin/node") || must_work()) {
    EXPECT_EQ(asked({"node", "-e",
                     "require('http').get('http://web.example.org/', r => r.on('data', d => "
                     "process.stdout.write(d)))"},
                    hosts),
              "page for web.example.org");
  }
  EXPECT_EQ(python("import asyncio\n"
                   "async def talk():\n"
                   "    r, w = await asyncio.open_connection('web.example.org', 7)\n"
                   "    w.write(b'hello'); w.write_eof()\n"
                   "    print((await r.read()).decode())\n"
                   "asyncio.run(talk())",
                   hosts),
            "hello\n");
  EXPECT_EQ(python("import urllib.request\n"
                   "print(urllib.request.urlopen('http://web.example.org/').read().decode())",
                   hosts),
            "page for web.example.org\n");
}

TEST_F(AllowedHosts, AreReachedInEveryWayToConnect) {
  const Words hosts = {"web.example.org:7"};
  EXPECT_EQ(python("s = socket.socket(); s.setblocking(False)\n"
                   "e = select.epoll(); e.register(s, select.EPOLLOUT)\n"
                   "copy = s.dup()\n"
                   "try: s.connect(('web.example.org', 7))\n"
                   "except BlockingIOError: pass\n"
                   "while not any(flags == select.EPOLLOUT for _, flags in e.poll(5)): pass\n"
                   "copy.sendall(b'early'); s.setblocking(True)\n"
                   "print(s.recv(5).decode(), s.getpeername()[0])",
                   hosts),
            "early 198.18.0.1\n");
  EXPECT_EQ(python("s = socket.socket(socket.AF_INET6)\n"
                   "s.connect(('::ffff:' + socket.gethostbyname('web.example.org'), 7))\n"
                   "s.sendall(b'mapped'); print(s.recv(6).decode())",
                   hosts),
            "mapped\n");
  EXPECT_EQ(python("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10)\n"
                   "s.sendto(b'datagram', ('web.example.org', 7)); print(s.recv(100).decode())\n"
                   "s.connect(('web.example.org', 7)); s.send(b'again'); print(s.recv(9).decode())",
                   hosts),
            "datagram\nagain\n");
  EXPECT_THAT(python("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                     "s.sendto(b'x', ('web.example.org', 8))",
                     hosts),
              HasSubstr("| sendto web.example.org:8/udp"));
}

TEST_F(AllowedHosts, CountWhatIsSentAndReceived) {
  class Traffic final : public EventSink {
   public:
    void on_event(const Event& event) override {
      if (event.kind == Event::Kind::Traffic)
        text += event.act + " " + std::to_string(event.amount) + " " + event.subject + ";";
    }
    std::string text;
  };
  EXPECT_EQ(in_world([] {
              const SpecBuilder builder =
                  sandboxed({"/usr/bin/python3", "-c",
                             "import socket\ns = socket.create_connection(('web.example.org', 7))\n"
                             "s.sendall(b'x' * 100000); n = 0\n"
                             "while n < 100000: n += len(s.recv(100000))"})
                      .network(NetworkPolicy::allow_hosts({"web.example.org:7"}).value());
              LinuxBackend backend = LinuxBackend::make().value();
              Traffic traffic;
              (void)execute(builder.build().value(), backend, captured(), traffic);
              return traffic.text;
            }),
            "sent 100000 web.example.org:7;received 100000 web.example.org:7;");
}

// What was told of those with a name, and of addresses beside loopback: who asked for whom, and
// which rule decided.
TEST_F(AllowedHosts, AreToldWithTheirNameAndTheirRule) {
  class Network final : public EventSink {
   public:
    void on_event(const Event& event) override {
      if (event.kind != Event::Kind::Network || !event.endpoint || event.endpoint->port != 7)
        return;
      text += fmt::format("{} {} {}, {}, {}", event.act, event.subject, to_string(event.verdict),
                          event.rule, event.endpoint->name);
      if (!event.processes.empty()) text += ", by " + event.processes.front().executable;
      text += "\n";
    }
    std::string text;
  };
  const auto told = [](const std::string& host) {
    return in_world([&] {
      const SpecBuilder builder =
          sandboxed({"/usr/bin/python3", "-c",
                     "import socket\ns = socket.create_connection(('" + host +
                         "', 7))\ns.sendall(b'x'); s.recv(1)"})
              .network(NetworkPolicy::allow_hosts({"web.example.org:7"}).value());
      LinuxBackend backend = LinuxBackend::make().value();
      Network network;
      (void)execute(builder.build().value(), backend, captured(), network);
      return network.text;
    });
  };
  const std::string by = ", by " + std::filesystem::canonical("/usr/bin/python3").string() + "\n";
  const std::string list = "network: hosts (the default)";
  EXPECT_EQ(told("web.example.org"), "connect web.example.org:7/tcp allow, web.example.org:7 of " +
                                         list + ", web.example.org" + by +
                                         "reach web.example.org:7 allow, web.example.org:7 of " +
                                         list + ", web.example.org" + by);
  EXPECT_EQ(told("192.0.2.80"), "connect 192.0.2.80:7/tcp deny, " + list + ", " + by);
}

// Connections that wait to be accepted.
int accepted_by(int server) {
  int count = 0;
  while (UniqueFd(::accept4(server, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)).is_open())
    ++count;
  return count;
}

UniqueFd server_at(const char* host, std::uint16_t port) {
  UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(server.get(), 4096) != 0)
    server.reset();
  return server;
}

// A second thread puts the one address in place of the other while the call waits: what hermetic
// has looked at is not what the kernel reads. Who is not allowed hears of none of it.
TEST_F(AllowedHosts, AreAllThatIsReachedByArgumentsThatAreSwapped) {
  const Words swap = {misbehave("attempt"), "swap-host", "1000"};
  const auto reached = [&](const std::function<std::string()>& reach) {
    return in_world([&]() -> std::string {
      const UniqueFd allowed = server_at("192.0.2.80", 1014);
      const UniqueFd denied = server_at("192.0.2.81", 1014);
      if (!allowed.is_open() || !denied.is_open()) return "nobody listens";
      std::array<int, 2> accepted = {};
      std::atomic<bool> is_over = false;
      // All the while: a server whose queue is full keeps those waiting who connect.
      std::thread acceptor([&] {
        for (bool is_last = false; !is_last; ::usleep(1000)) {
          is_last = is_over;
          accepted[0] += accepted_by(allowed.get());
          accepted[1] += accepted_by(denied.get());
        }
      });
      const std::string problem = reach();
      is_over = true;
      acceptor.join();
      return problem + (accepted[0] > 0 ? "allowed " : "") + (accepted[1] > 0 ? "denied" : "");
    });
  };
  EXPECT_EQ(reached([&] { return run_plainly(swap).code == 0 ? "" : "it failed"; }),
            "allowed denied")
      << "both are there, and swapped";
  EXPECT_EQ(reached([&]() -> std::string {
              const Result<Finished> finished = try_run(
                  sandboxed(swap).network(NetworkPolicy::allow_hosts({"192.0.2.80:1014"}).value()));
              if (!finished) return to_string(finished.error());
              if (!finished->outcome.success()) return "it failed";
              return finished->outcome.violations.empty() ? "nothing was denied" : "";
            }),
            "allowed ");
}

// An echo of so much, ended when more than the limit has gone both ways.
std::string echoed(std::uint64_t bytes, std::optional<std::uint64_t> limit, const char* kind) {
  return in_world([&]() -> std::string {
    const std::string script =
        "import socket\ns = socket.socket(socket.AF_INET, socket." + std::string(kind) +
        ")\n"
        "s.connect(('web.example.org', 7)); n = 0\n"
        "while n < " +
        std::to_string(bytes) + ": s.send(b'x' * 1000); n += len(s.recv(1000))";
    const SpecBuilder builder =
        sandboxed({"/usr/bin/python3", "-c", script})
            .network(NetworkPolicy::allow_hosts({"web.example.org:7"}).value())
            .limits({.network_bytes = limit});
    const Outcome outcome = run(builder);
    const std::uint64_t counted = outcome.usage.network_bytes.value_or(0);
    if (outcome.success()) return counted >= 2 * bytes ? "all" : "not all was counted";
    const auto* over = std::get_if<OverLimit>(&outcome.ending);
    if (over == nullptr) return outcome.standard_error.text;
    // It is asked for byte by byte, so that what is under way is little.
    const bool in_time = over->actual > over->limit && over->actual < over->limit + 100'000;
    return over->which + (in_time ? " over" : " much too late");
  });
}

TEST_F(AllowedHosts, AreReachedUpToTheLimitOfBytes) {
  for (const char* kind : {"SOCK_STREAM", "SOCK_DGRAM"}) {
    SCOPED_TRACE(kind);
    EXPECT_EQ(echoed(3'000'000, 1'000'000, kind), "network_bytes over");
    EXPECT_EQ(echoed(300'000, 1'000'000, kind), "all");
    EXPECT_EQ(echoed(3'000'000, std::nullopt, kind), "all");
  }
}

// At a place of the world: takes all that comes and counts it, or gives all that is taken.
class Peer {
 public:
  enum class Way { In, Out };
  Peer(int type, Way way) : way_(way) {
    if (type == SOCK_DGRAM) {
      open_.emplace_back(bound(type));
    } else {
      listener_ = UniqueFd(bound(type));
      ::listen(listener_.get(), 256);
    }
    thread_ = std::thread([this] { serve(); });
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { (void)end(); }

  // What has come, when there is no more of it.
  std::uint64_t end() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
    return count_;
  }

 private:
  static int bound(int type) {
    const int fd = ::socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(9);
    ::inet_pton(AF_INET, "192.0.2.80", &place.sin_addr);
    ::bind(fd, reinterpret_cast<sockaddr*>(&place), sizeof place);
    return fd;
  }
  void serve() {
    std::vector<char> block(std::size_t{1} << 16U);
    for (bool more = true; more || !is_over_;) {
      more = false;
      if (listener_.is_open())
        if (UniqueFd fresh(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
            fresh.is_open())
          open_.push_back(std::move(fresh));
      for (const UniqueFd& socket : open_) {
        const ssize_t size = way_ == Way::In
                                 ? ::recv(socket.get(), block.data(), block.size(), 0)
                                 : ::send(socket.get(), block.data(), block.size(), MSG_NOSIGNAL);
        if (size > 0 && way_ == Way::In) count_ += static_cast<std::uint64_t>(size);
        more = more || (size > 0 && (way_ == Way::In || !is_over_));
      }
      if (!more) ::usleep(1000);
    }
  }

  Way way_;
  std::atomic<bool> is_over_ = false;
  std::uint64_t count_ = 0;
  UniqueFd listener_;
  std::vector<UniqueFd> open_;
  std::thread thread_;
};

// "over", and how much of the limit of 100,000 bytes has got through by 64 sockets at once.
std::string through_many_sockets(int type, Peer::Way way, const std::string& script) {
  return in_world([&]() -> std::string {
    constexpr std::uint64_t kLimit = 100'000;
    Peer peer(type, way);
    const SpecBuilder builder =
        sandboxed({"/usr/bin/python3", "-c",
                   "import os, select, socket\nsockets = []\nfor _ in range(64):\n"
                   "    s = socket.socket(socket.AF_INET, " +
                       std::to_string(type) +
                       ")\n    s.connect(('web.example.org', 9))\n    sockets.append(s)\n"
                       "    s.setblocking(False)\n" +
                       script})
            .network(NetworkPolicy::allow_hosts({"web.example.org:9"}).value())
            .limits({.network_bytes = kLimit});
    class Relayed final : public EventSink {
     public:
      void on_event(const Event& event) override {
        if (event.kind == Event::Kind::Traffic) bytes += event.amount;
      }
      std::uint64_t bytes = 0;
    };
    Relayed relayed;
    LinuxBackend backend = LinuxBackend::make().value();
    const Finished finished =
        execute(builder.build().value(), backend, captured(), relayed).value();
    const auto* over = std::get_if<OverLimit>(&finished.outcome.ending);
    if (over == nullptr || over->which != "network_bytes")
      return finished.outcome.standard_error.text;
    const std::uint64_t arrived = way == Peer::Way::In ? peer.end() : relayed.bytes;
    const std::uint64_t passed = std::max(arrived, relayed.bytes);
    if (passed > kLimit) return "over, by " + std::to_string(passed - kLimit);
    return passed < kLimit / 2 ? "over, after " + std::to_string(passed) : "over";
  });
}

TEST_F(AllowedHosts, GetNoByteBeyondTheLimitThroughManySockets) {
  EXPECT_EQ(through_many_sockets(SOCK_STREAM, Peer::Way::In,
                                 "while True:\n"
                                 "    for s in select.select([], sockets, [])[1]:\n"
                                 "        s.send(b'x' * 16384)\n"),
            "over");
  EXPECT_EQ(through_many_sockets(SOCK_DGRAM, Peer::Way::In,
                                 "while True:\n"
                                 "    for s in select.select([], sockets, [])[1]:\n"
                                 "        s.send(b'x' * 1000)\n"),
            "over");
}

TEST_F(AllowedHosts, GiveNoByteBeyondTheLimitThroughManySockets) {
  EXPECT_EQ(through_many_sockets(SOCK_STREAM, Peer::Way::Out,
                                 "while True:\n"
                                 "    for s in select.select(sockets, [], [])[0]:\n"
                                 "        os.write(1, s.recv(16384))\n"),
            "over");
}

TEST_F(AllowedHosts, AreAskedForByNameUpToTheLimitOfBytes) {
  for (const char* kind : {"SOCK_DGRAM", "SOCK_STREAM"})
    EXPECT_EQ(in_world([&]() -> std::string {
                const std::string script =
                    "import socket, struct\n"
                    "question = struct.pack('>HHHHHH', 7, 256, 1, 0, 0, 0) + "
                    "b'\\3web\\7example\\3org\\0' + struct.pack('>HH', 1, 1)\n"
                    "s = socket.socket(socket.AF_INET, socket." +
                    std::string(kind) +
                    "); s.connect(('127.0.0.1', 53))\n"
                    "if s.type == socket.SOCK_STREAM: question = b'\\0\\x21' + question\n"
                    "while True: s.send(question); s.recv(512)";
                const SpecBuilder builder =
                    sandboxed({"/usr/bin/python3", "-c", script})
                        .network(NetworkPolicy::allow_hosts({"web.example.org:9"}).value())
                        .limits({.wall_time = std::chrono::minutes(1), .network_bytes = 10'000});
                const Outcome outcome = run(builder);
                const auto* over = std::get_if<OverLimit>(&outcome.ending);
                if (over == nullptr) return outcome.standard_error.text + " not over";
                return over->actual < over->limit + 100 ? "over" : std::to_string(over->actual);
              }),
              "over")
        << kind;
}

TEST_F(AllowedHosts, LeaveTheSandboxItsOwnLoopback) {
  EXPECT_EQ(python("s = socket.create_server(('127.0.0.1', 7007))\n"
                   "c = socket.create_connection(('127.0.0.1', 7007))\n"
                   "s.accept()[0].sendall(b'own'); print(c.recv(3).decode())",
                   {"web.example.org:7"}),
            "own\n");
  EXPECT_THAT(python("socket.create_connection(('127.0.0.1', 7))", {"web.example.org:7"}),
              HasSubstr("Connection refused"))
      << "that of the host is another";
}

TEST_F(AllowedHosts, AreProvedToBeAllThereIs) {
  EXPECT_EQ(in_world([] {
              const SpecBuilder builder = sandboxed({"true"}).network(
                  NetworkPolicy::allow_hosts({"web.example.org:7"}).value());
              RunOptions options = captured();
              options.prove = true;
              const Result<Finished> finished = try_run(builder, options);
              if (!finished) return to_string(finished.error());
              std::string tried;
              for (const NegativeControl& control : finished->outcome.probes)
                if (control.tried) tried += control.name + " ";
              return tried;
            }),
            "tcp udp dns io_uring vsock secret input ");
}

}  // namespace
}  // namespace hermetic
