// Names that a command looks up: a violation by whatever call it asks, with who asked and why not.
#include <netinet/in.h>

#include <map>
#include <set>

#include "tests/sandbox/world.h"

namespace hermetic {
namespace {

using Mode = NetworkPolicy::Mode;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Names final : public EventSink {
 public:
  void on_event(const Event& event) override {
    // The C library looks for a cache of names at a path.
    if (event.endpoint && event.endpoint->family != "unix") events.push_back(event);
  }
  std::vector<Event> events;
};

// How it ended, and each violation: "0| resolve a.test by CMD, RULE: REASON (REMEDY)".
std::string judged(const SpecBuilder& builder, Names& names) {
  LinuxBackend backend = LinuxBackend::make().value();
  const Result<Finished> finished = execute(builder.build().value(), backend, captured(), names);
  if (!finished) return to_string(finished.error());
  const Outcome& outcome = finished->outcome;
  std::string text = outcome.success() ? "0" : outcome.standard_error.text;
  if (std::holds_alternative<EndedByViolation>(outcome.ending)) text = "ended by a violation";
  for (const Violation& violation : outcome.violations)
    text += fmt::format("| {} {} by {}, {}: {} ({})", violation.act, violation.subject,
                        violation.detail.substr(0, violation.detail.find(' ')), violation.rule,
                        violation.reason, violation.remedy);
  return text;
}
std::string judged(const SpecBuilder& builder) {
  Names names;
  return judged(builder, names);
}

SpecBuilder scripted(const std::string& script) {
  return sandboxed({"/usr/bin/python3", "-c", "import os, socket, struct, sys, time\n" + script});
}
std::string by_python() { return "by " + std::filesystem::canonical("/usr/bin/python3").string(); }

// Each asks for other.example.org.
const std::string kQuestion =
    "q = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\5other\\7example\\3org\\0\\0\\1\\0\\1'\n";
const std::map<std::string, std::string> kWays = {
    {"gethostbyname", "try: socket.gethostbyname('other.example.org')\nexcept OSError: pass\n"},
    {"getaddrinfo", "try: socket.getaddrinfo('other.example.org', 80)\nexcept OSError: pass\n"},
    {"write", kQuestion + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                          "s.connect(('192.0.2.53', 53)); os.write(s.fileno(), q); s.recv(99)\n"},
    {"sendto", kQuestion + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                           "s.sendto(q, ('192.0.2.53', 53)); s.recv(99)\n"},
    {"tcp", kQuestion + "s = socket.create_connection(('192.0.2.53', 53))\n"
                        "s.sendall(struct.pack('>H', len(q)) + q); s.recv(99)\n"},
    {"and ends", kQuestion + "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                             "s.connect(('192.0.2.53', 53)); os.write(s.fileno(), q)\n"
                             "os._exit(0)\n"}};

class AllowedNames : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_ANSWERED(ask_with_own_mounts([] { return std::string("yes"); }));
  }
};

TEST_F(AllowedNames, AreTheOnlyOnesByWhateverCallTheyAreAsked) {
  for (const auto& [way, script] : kWays)
    EXPECT_EQ(in_world([&, script = script] {
                return judged(scripted(script).network(
                    NetworkPolicy::allow_hosts({"web.example.org"}).value()));
              }),
              "0| resolve other.example.org " + by_python() +
                  ", network: hosts (the default): no rule allows this name ()")
        << way;
}

TEST_F(AllowedNames, EndTheRunIfTheyAreNotAndItIsToBeKilled) {
  for (const auto& [way, script] : kWays) {
    const std::string rest = script.ends_with("_exit(0)\n") ? "" : "time.sleep(60)";
    EXPECT_THAT(
        in_world([&, script = script] {
          return judged(scripted(script + rest)
                            .on_violation(OnViolation::Kill)
                            .network(NetworkPolicy::allow_hosts({"web.example.org"}).value()));
        }),
        HasSubstr("ended by a violation| resolve other.example.org"))
        << way;
  }
}

// Two who ask at the same time, through sockets that are connected before either asks.
TEST_F(AllowedNames, AreAskedForByWhomTheyAreSaidToBe) {
  const std::string script =
      "def ask(name, ready, go):\n"
      "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.53', 53))\n"
      "    os.write(ready, b'x'); os.read(go, 1)\n"
      "    q = b'\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\5' + name + b'\\0\\0\\1\\0\\1'\n"
      "    s.send(q); s.recv(99); os._exit(0)\n"
      "r, ready = os.pipe(); go, w = os.pipe()\n"
      "for name in (b'first', b'other'):\n"
      "    if os.fork() == 0: ask(name, ready, go)\n"
      "n = 0\n"
      "while n < 2: n += len(os.read(r, 2))\n"
      "os.write(w, b'xx'); os.wait(); os.wait()\n";
  EXPECT_EQ(in_world([&]() -> std::string {
              Names names;
              (void)judged(
                  scripted(script).network(NetworkPolicy::allow_hosts({"web.example.org"}).value()),
                  names);
              std::map<std::string, int> asked;
              std::vector<int> connects;
              for (const Event& event : names.events) {
                if (event.processes.empty()) continue;
                const int pid = event.processes.front().pid;
                if (event.act == "connect") connects.push_back(pid);
                if (event.act == "resolve") asked[event.subject] = pid;
                if (event.processes.size() != 2) return "no parent of " + event.act;
              }
              if (connects.size() != 2 || asked.size() != 2) return "not two of each";
              const auto [low, high] = std::minmax(connects[0], connects[1]);
              if (low == high) return "the same";
              return asked["first"] == low && asked["other"] == high ? "right" : "the wrong one";
            }),
            "right");
}

TEST_F(AllowedNames, ThatLeadWhereTheyMustNotAreViolations) {
  for (const auto& [name, address, kind] : {std::tuple("inside", "10.0.0.1", "private"),
                                            {"meta", "169.254.169.254", "metadata"},
                                            {"near", "169.254.1.1", "link-local"}}) {
    const std::string host = name + std::string(".example.org");
    const SpecBuilder builder =
        scripted("try: socket.create_connection(('" + host + "', 80), 5)\nexcept OSError: pass");
    const auto allowing = [&](const Words& rules) {
      return in_world([&] {
        return judged(SpecBuilder(builder).network(NetworkPolicy::allow_hosts(rules).value()));
      });
    };
    EXPECT_EQ(
        allowing({host}),
        fmt::format("0| resolve {0} {1}, {0} of network: hosts (the default): {2} is {3}, and "
                    "no rule names it (--allow-host {2} as well, or in a spec: network: "
                    "[\"{2}\"])",
                    host, by_python(), address, kind));
    EXPECT_EQ(allowing({host, std::string(address) + ":80"}), "0");
    EXPECT_THAT(allowing({host, std::string(address) + ":81"}),
                HasSubstr(fmt::format("| reach {}:80 {}, ", host, by_python())))
        << "the address is dialled, on the port that is named";
  }
}

TEST_F(AllowedNames, AreReachedByWhomTheyAreSaidToBe) {
  EXPECT_EQ(
      in_world([&]() -> std::string {
        Names names;
        (void)judged(scripted("s = socket.create_connection(('web.example.org', 7))\n"
                              "s.sendall(b'x'); s.recv(1)")
                         .network(NetworkPolicy::allow_hosts({"web.example.org:7"}).value()),
                     names);
        std::string text;
        for (const Event& event : names.events)
          if (event.act != "socket" && event.act != "connect")
            text += fmt::format(
                "{} {}, {}, {}\n", event.act, event.subject, event.rule,
                event.processes.empty() ? "" : "by " + event.processes.front().executable);
        return text;
      }),
      fmt::format("resolve web.example.org, {0}reach web.example.org:7, {0}"
                  "sent web.example.org:7, {0}received web.example.org:7, {0}",
                  "web.example.org:7 of network: hosts (the default), " + by_python() + "\n"));
}

// One who closes each connection before the other side does, and has one order all the same.
TEST_F(AllowedNames, AreToldInOneOrderForASequentialClient) {
  EXPECT_EQ(in_world([&]() -> std::string {
              const SpecBuilder builder =
                  scripted(
                      "for i in range(3):\n"
                      "    s = socket.create_connection(('web.example.org', 7))\n"
                      "    s.sendall(b'x' * 1000); n = 0\n"
                      "    while n < 1000: n += len(s.recv(1000))\n"
                      "    s.close()")
                      .network(NetworkPolicy::allow_hosts({"web.example.org:7"}).value());
              std::set<std::string> logs;
              for (int i = 0; i < 8; ++i) {
                Names names;
                (void)judged(builder, names);
                std::string log;
                for (const Event& event : names.events)
                  log += fmt::format("{} {}{} ", event.act, event.amount, event.detail);
                logs.insert(log);
              }
              return fmt::format("{}", fmt::join(logs, "\n"));
            }),
            "socket 0 connect 0 resolve 0 socket 0 connect 0 reach 0 "
            "socket 0 connect 0 resolve 0 socket 0 connect 0 reach 0 "
            "socket 0 connect 0 resolve 0 socket 0 connect 0 reach 0 sent 3000 received 3000 ");
}

// Names in questions that no nameserver answers go nowhere, and are told all the same.
TEST_F(AllowedNames, AreToldHoweverOddTheQuestion) {
  const std::string ask =
      "def q(name, kind=1, what=1, flags=256, count=1, more=b''):\n"
      "    return (struct.pack('>6H', 7, flags, count, 0, 0, 0) + bytes([len(name)]) + name +\n"
      "            b'\\7example\\3org\\0' + struct.pack('>HH', kind, what) + more)\n"
      "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.53', 53))\n";
  const std::map<std::string, std::string> ways = {
      {"class", "s.send(q(b'odd', what=3))"},
      {"operation", "s.send(q(b'odd', flags=0x2900))"},
      {"response", "s.send(q(b'odd', flags=0x8100))"},
      {"two", "s.send(q(b'odd', count=2, more=b'\\1a\\0\\0\\1\\0\\1'))"},
      {"another kind first", "s.send(q(b'odd', 16)); s.recv(99); s.send(q(b'odd'))"},
      {"after a response on a stream",
       "t = socket.create_connection(('192.0.2.53', 53))\n"
       "for m in q(b'web', flags=0x8100), q(b'odd'): t.sendall(struct.pack('>H', len(m)) + m)\n"
       "t.recv(99)"}};
  for (const auto& [way, script] : ways)
    EXPECT_THAT(
        in_world([&, script = script] {
          return judged(scripted(ask + script)
                            .network(NetworkPolicy::allow_hosts({"web.example.org"}).value()));
        }),
        HasSubstr("| resolve odd.example.org " + by_python()))
        << way;
  EXPECT_THAT(
      in_world([&] {
        return judged(scripted(ask + "s.send(q(b'odd', more=b'x'))")
                          .network(NetworkPolicy::allow_hosts({"web.example.org"}).value()));
      }),
      HasSubstr("| resolve an unreadable question " + by_python()));
}

// By a protocol that nobody answers: nobody but the observer hears of them.
TEST_F(AllowedNames, AreToldIfTheyAreAskedForByUdpLite) {
  if (!UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDPLITE)).is_open())
    GTEST_SKIP() << "this kernel has none";
  EXPECT_EQ(in_world([&] {
              return judged(scripted(kQuestion +
                                     "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136)\n"
                                     "s.sendto(q, ('192.0.2.53', 53))\n")
                                .network(NetworkPolicy::allow_hosts({"web.example.org"}).value()));
            }),
            "0| resolve other.example.org " + by_python() + ", network: hosts (the default):  ()");
}

// However fast they are asked for, and however soon the command is over: each is told, or how many
// were lost.
TEST_F(AllowedNames, AreNotLostInACrowd) {
  for (const int count : {250, 3000}) {
    const std::string text = in_world([&]() -> std::string {
      Names names;
      (void)judged(
          scripted(fmt::format("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                               "s.connect(('192.0.2.53', 53))\n"
                               "for i in range({}): s.send(b'\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0'"
                               "b'\\5n%04d\\7example\\3org\\0\\0\\1\\0\\1' % i)\n"
                               "os._exit(0)",
                               count))
              .network(NetworkPolicy::allow_hosts({"web.example.org"}).value()),
          names);
      int told = 0;
      int lost = 0;
      int unread = 0;
      for (const Event& event : names.events) {
        if (event.act != "resolve") continue;
        if (event.subject != "an unreadable question")
          ++told;
        else if (event.detail.find("in all") != std::string::npos)
          lost = std::stoi(event.detail);
        else if (std::sscanf(event.detail.c_str(), "the run was over before %d of", &unread) != 1)
          unread = 1;
      }
      return told + lost + unread == count
                 ? "all"
                 : fmt::format("{} told, {} lost, {} unread", told, lost, unread);
    });
    EXPECT_EQ(text, "all") << count;
  }
}

// Without the violation of a process that had to wait for the processor between connect() and its
// first question for longer than a question takes: that it asks is not known before it does.
std::string without_late(std::string text, const std::string& rule,
                         const std::string& server = "192.0.2.53") {
  const std::string late = "| connect " + server + ":53/udp " + rule;
  if (const std::size_t place = text.find(late); place != std::string::npos)
    text.erase(place, late.size());
  return text;
}

// A socket that believes to be connected to one may ask again and again.
TEST(Nameservers, AreAskedForMoreThanOneName) {
  const std::string script = kQuestion +
                             "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                             "s.connect(('192.0.2.53', 53))\n"
                             "for name in b'other', b'third':\n"
                             "    try: s.send(q.replace(b'other', name))\n"
                             "    except OSError: pass\n";
  const std::string rule = by_python() + ", network: none (the default):  ()";
  EXPECT_EQ(without_late(judged(scripted(script)), rule),
            "0| resolve other.example.org " + rule + "| resolve third.example.org " + rule);
}

// Without anybody who answers: a name is known if the call that asks for it can be heard.
TEST(Nameservers, AreAViolationWhereNobodyAnswers) {
  const std::string write =
      "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.53', 53))\n"
      "try: os.write(s.fileno(), b'x' * 20)\nexcept OSError: pass\n";
  for (const Mode mode : {Mode::None, Mode::Loopback}) {
    const std::string rule =
        fmt::format("{}, network: {} (the default):  ()", by_python(), to_string(mode));
    const auto with = [&](const std::string& script) {
      return scripted(script).network({.mode = mode});
    };
    const std::string& by_send = kWays.at("gethostbyname");
    const std::string connects = "| connect 192.0.2.53:53/udp " + rule;
    EXPECT_EQ(judged(with(write)), "0" + connects);
    EXPECT_EQ(judged(with(write + "time.sleep(60)").on_violation(OnViolation::Kill)),
              "ended by a violation" + connects);
    EXPECT_EQ(judged(with(write).on_violation(OnViolation::Kill)),
              "ended by a violation" + connects)
        << "it was over before that";
    // One that never says a name, and goes on to the next.
    const std::string again =
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for i in range(90): s.connect(('192.0.2.%d' % i, 53)); time.sleep(0.02)";
    EXPECT_THAT(judged(with(again).on_violation(OnViolation::Kill)),
                HasSubstr("ended by a violation| connect 192.0.2.0:53/udp"));
    if (mode == Mode::None)
      EXPECT_EQ(without_late(judged(with(by_send)), rule, "127.0.0.1"),
                "0| resolve other.example.org " + rule);
    else
      EXPECT_THAT(judged(with(by_send)), HasSubstr(":53/udp " + rule));
    const std::string stream =
        "try: socket.create_connection(('127.0.0.1', 53))\nexcept OSError: pass";
    EXPECT_THAT(judged(with(stream)), HasSubstr("| connect 127.0.0.1:53/tcp " + rule));
  }
}

}  // namespace
}  // namespace hermetic
