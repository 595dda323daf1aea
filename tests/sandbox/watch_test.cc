// What hermetic hears of a command that tries to reach somebody. Everything is aimed at loopback.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using Mode = NetworkPolicy::Mode;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Listener final : public EventSink {
 public:
  explicit Listener(bool listens) : listens_(listens) {}
  void on_event(const Event& event) override { events.push_back(event); }
  [[nodiscard]] bool is_listening() const override { return listens_; }
  std::vector<Event> events;

 private:
  bool listens_;
};

struct Seen {
  Outcome outcome;
  std::vector<Event> events;  // of the network
  std::vector<Event> all;
};

Seen watch(const SpecBuilder& builder, RunOptions options = captured(), bool listens = true) {
  Seen seen;
  LinuxBackend backend = LinuxBackend::make().value();
  const Plan plan = make_plan(builder.build().value(), backend.probe()).value();
  Listener listener(listens);
  const auto started = backend.start(plan, options, listener);
  EXPECT_TRUE(started) << to_string(started.error());
  if (!started) return seen;
  Result<Outcome> outcome = (*started)->wait();
  EXPECT_TRUE(outcome);
  if (outcome) seen.outcome = std::move(*outcome);
  seen.all = listener.events;
  for (const Event& event : listener.events)
    if (event.kind == Event::Kind::Network) seen.events.push_back(event);
  return seen;
}

SpecBuilder attempt(Words words, Mode mode = Mode::None) {
  words.insert(words.begin(), misbehave("attempt"));
  return sandboxed(std::move(words)).network({.mode = mode});
}
SpecBuilder python(const std::string& script, Mode mode = Mode::None) {
  return sandboxed({"python3", "-c", "import socket\n" + script}).network({.mode = mode});
}

Words subjects(const std::vector<Violation>& violations) {
  Words words;
  for (const Violation& violation : violations)
    words.push_back(violation.act + " " + violation.subject);
  return words;
}

auto is(const char* act, const char* subject, Verdict verdict) {
  return AllOf(Field(&Event::act, act), Field(&Event::subject, subject),
               Field(&Event::verdict, verdict));
}

TEST(Watch, HearsNothingOfACommandThatReachesForNothing) {
  const Seen seen = watch(shell("ls / >/dev/null; echo done"));
  EXPECT_THAT(seen.events, IsEmpty());
  EXPECT_THAT(seen.outcome.violations, IsEmpty());
}

TEST(Watch, SaysWhatIsWatchedBeforeAnythingElse) {
  const Seen seen = watch(shell("true"));
  ASSERT_GE(seen.all.size(), 5U);
  Words detectors;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen.all[i].kind, Event::Kind::Coverage);
    detectors.push_back(seen.all[i].subject + " " + seen.all[i].act);
  }
  EXPECT_THAT(detectors, ElementsAre("network on", "processes off", "files off", "limits on"));
  EXPECT_EQ(seen.all[4].kind, Event::Kind::Started);
  EXPECT_EQ(seen.all.back().kind, Event::Kind::Ended);
}

// A command that is quick is heard of before init has said that it runs.
TEST(Watch, SaysThatTheCommandRunsBeforeWhatItDoes) {
  RunOptions options = captured();
  options.observe_processes = true;
  for (int i = 0; i < 12; ++i) {
    const Seen seen = watch(sandboxed({misbehave("reach"), "port", "127.0.0.1", "1000"}), options);
    Words kinds;
    for (const Event& event : seen.all)
      if (event.kind != Event::Kind::Coverage) kinds.emplace_back(to_string(event.kind));
    EXPECT_THAT(kinds, ElementsAre("process", "started", "network", "network", "ended"));
  }
}

TEST(Watch, NamesWhoDidItAndWhoStartedThat) {
  const Seen seen = watch(shell("cd /usr; " + in_shell("reach") + " port 127.0.0.1 1000; true"));
  ASSERT_THAT(seen.events, Contains(is("connect", "127.0.0.1:1000/tcp", Verdict::Deny)));
  const Event& event = seen.events.back();
  EXPECT_EQ(event.rule, "network: none (the default)");
  ASSERT_EQ(event.processes.size(), 2U);
  EXPECT_EQ(event.processes[0].executable, misbehave("reach"));
  EXPECT_THAT(event.processes[0].arguments,
              ElementsAre(misbehave("reach"), "port", "127.0.0.1", "1000"));
  EXPECT_EQ(event.processes[0].directory, "/usr");
  EXPECT_EQ(event.processes[0].parent, event.processes[1].pid);
  EXPECT_THAT(event.processes[1].executable, ::testing::EndsWith("sh"));
  ASSERT_TRUE(event.endpoint);
  EXPECT_EQ(*event.endpoint, (Endpoint{"inet", "tcp", "127.0.0.1", 1000, ""}));
  ASSERT_EQ(seen.outcome.violations.size(), 1U);
  EXPECT_EQ(seen.outcome.violations[0].detail, misbehave("reach") + " port 127.0.0.1 1000");
  EXPECT_TRUE(seen.outcome.success());
}

TEST(Watch, FindsTheSameIfNobodyListens) {
  for (const Words& words : {Words{"families"}, Words{"mapped"}, Words{"send"}, Words{"hidden"}}) {
    const Seen heard = watch(attempt(words));
    const Seen unheard = watch(attempt(words), captured(), false);
    EXPECT_THAT(heard.outcome.violations, Not(IsEmpty()));
    EXPECT_EQ(unheard.outcome.violations, heard.outcome.violations) << words[0];
  }
}

// A parent whose number was remembered may be gone, and the number another's.
TEST(Watch, SeesThatAParentIsGone) {
  const Seen seen = watch(python(R"(
import os, time
def reach():
    try: socket.create_connection(('127.0.0.1', 1000))
    except OSError: pass
ours, theirs = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        parent = os.getppid()
        reach()
        os.write(theirs, b'x')
        while os.getppid() == parent: time.sleep(0.01)
        reach()
        os.write(theirs, b'x')
    else: os.read(ours, 1)
    os._exit(0)
os.wait()
os.read(ours, 1)
)"));
  std::vector<std::vector<ProcessFacts>> who;
  for (const Event& event : seen.events)
    if (event.act == "connect") who.push_back(event.processes);
  ASSERT_EQ(who.size(), 2U);
  ASSERT_EQ(who[0].size(), 3U);
  EXPECT_EQ(who[0][0].parent, who[0][1].pid);
  EXPECT_EQ(who[0][1].parent, who[0][2].pid);
  ASSERT_EQ(who[1].size(), 1U);
  EXPECT_EQ(who[1][0].pid, who[0][0].pid);
  EXPECT_EQ(who[1][0].parent, who[0][2].parent) << "init";
}

TEST(Watch, HearsEveryMessageOfACallThatSendsSeveral) {
  EXPECT_THAT(subjects(watch(attempt({"send"})).outcome.violations),
              ElementsAre("sendmmsg 127.0.0.1:1001/udp", "sendmmsg 127.0.0.1:1002/udp",
                          "sendmsg 127.0.0.1:1001/udp", "sendto 127.0.0.1:1002/udp"));
}

TEST(Watch, HearsOfBothFamilies) {
  EXPECT_THAT(subjects(watch(attempt({"mapped"})).outcome.violations),
              ElementsAre("connect 127.0.0.1:1003/tcp", "connect [::1]:1003/tcp"));
}

TEST(Watch, HearsOfSocketsThatAreRefused) {
  const Seen seen = watch(attempt({"families"}));
  EXPECT_THAT(subjects(seen.outcome.violations),
              ElementsAre("socket vsock", "socket packet/raw", "socket inet/raw"));
  EXPECT_THAT(seen.events, Contains(is("io_uring_setup", "io_uring", Verdict::Deny)));
}

TEST(Watch, HearsThatNobodyMayPing) {
  const Seen seen =
      watch(python("try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)\n"
                   "except OSError as e: print(e.errno)"));
  EXPECT_EQ(seen.outcome.standard_output.text, "13\n");
  EXPECT_THAT(subjects(seen.outcome.violations), ElementsAre("socket inet/icmp"));
  EXPECT_THAT(seen.events, Contains(is("socket", "inet/icmp", Verdict::Deny)));
}

TEST(Watch, MarksWhatIsCut) {
  const std::string script =
      "import os, socket\nfor i in range(40):\n"
      "    if os.fork(): os.wait(); os._exit(0)\n"
      "socket.socket().connect_ex(('127.0.0.1', 1000))";
  const Seen seen = watch(sandboxed({"python3", "-c", script, std::string(5000, 'x')}));
  ASSERT_THAT(seen.events, Contains(is("connect", "127.0.0.1:1000/tcp", Verdict::Deny)));
  const std::vector<ProcessFacts>& processes = seen.events.back().processes;
  ASSERT_EQ(processes.size(), 33U);
  EXPECT_EQ(processes.back().executable, "…");
  ASSERT_EQ(processes.front().arguments.size(), 5U);
  EXPECT_EQ(processes.front().arguments.back(), "…");
}

TEST(Watch, HearsWhichNameIsLookedUp) {
  for (const Mode mode : {Mode::None, Mode::Loopback}) {
    const Seen seen = watch(python(
        "try: socket.getaddrinfo('build.example.org', 443)\nexcept OSError: print('no')", mode));
    EXPECT_EQ(seen.outcome.standard_output.text, "no\n");
    EXPECT_THAT(subjects(seen.outcome.violations), ElementsAre("resolve build.example.org"));
  }
}

// What a program of Python's library sees of it is an OSError like any other.
TEST(Watch, LetsLibrariesFailAsTheyDoWithoutANetwork) {
  const Seen seen =
      watch(python("import asyncio, ssl\n"
                   "ssl.create_default_context()\n"
                   "async def reach():\n"
                   "    try: await asyncio.open_connection('127.0.0.1', 443)\n"
                   "    except OSError as error: print(type(error).__name__)\n"
                   "asyncio.run(reach())\n"
                   "try: socket.create_connection(('nowhere.example.org', 443))\n"
                   "except OSError as error: print(type(error).__name__)"));
  EXPECT_EQ(seen.outcome.standard_output.text, "OSError\ngaierror\n");
  EXPECT_THAT(subjects(seen.outcome.violations),
              ElementsAre("connect 127.0.0.1:443/tcp", "resolve nowhere.example.org"));
}

TEST(Watch, AsksNobodyWhereLoopbackIsAllowed) {
  const Seen seen = watch(attempt({"mapped"}, Mode::Loopback));
  EXPECT_THAT(seen.outcome.violations, IsEmpty());
  EXPECT_THAT(seen.events, Contains(is("connect", "[::1]:1003/tcp", Verdict::Allow)));
}

TEST(Watch, KnowsOneWhoListens) {
  const std::string script =
      "s = socket.socket()\ns.bind(('', 0))\ntry: s.listen(); print('listens')\n"
      "except OSError as e: print(e)";
  const Seen none = watch(python(script));
  EXPECT_EQ(none.outcome.standard_output.text, "[Errno 99] Cannot assign requested address\n");
  ASSERT_EQ(none.outcome.violations.size(), 1U);
  EXPECT_EQ(none.outcome.violations[0].act, "listen");
  const Seen loopback = watch(python(script, Mode::Loopback));
  EXPECT_EQ(loopback.outcome.standard_output.text, "listens\n");
  EXPECT_THAT(loopback.outcome.violations, IsEmpty());
  EXPECT_THAT(loopback.events, Contains(AllOf(Field(&Event::act, "listen"),
                                              Field(&Event::verdict, Verdict::Allow))));
}

// What listens, is connected to and accepts, in the order in which it does so.
TEST(Watch, HearsOfBothEndsOfAConnection) {
  const std::string script =
      "s = socket.socket()\ns.bind(('127.0.0.1', 47124))\ntry:\n"
      "    s.listen()\n    c = socket.create_connection(('127.0.0.1', 47124))\n"
      "    s.accept()\nexcept OSError: pass";
  const auto told = [&](Mode mode) {
    Words words;
    for (const Event& event : watch(python(script, mode)).events)
      if (event.act != "socket")
        words.push_back(fmt::format("{} {} {}, {}", event.act, event.subject,
                                    to_string(event.verdict), event.rule));
    return words;
  };
  const std::string loopback = "network: loopback (the default)";
  EXPECT_THAT(told(Mode::Loopback), ElementsAre("bind 127.0.0.1:47124/tcp none, " + loopback,
                                                "listen 127.0.0.1:47124/tcp allow, " + loopback,
                                                "connect 127.0.0.1:47124/tcp allow, " + loopback,
                                                "accept 127.0.0.1:47124/tcp none, " + loopback));
  const std::string none = "network: none (the default)";
  EXPECT_THAT(told(Mode::None), ElementsAre("bind 127.0.0.1:47124/tcp none, " + none,
                                            "listen 127.0.0.1:47124/tcp deny, " + none));
}

TEST(Watch, HearsOfTheHostsNetworkToo) {
  UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(server.get(), place, size), 0);
  ASSERT_EQ(::listen(server.get(), 8), 0);
  ASSERT_EQ(::getsockname(server.get(), place, &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Seen seen = watch(
      sandboxed({misbehave("reach"), "port", "127.0.0.1", port}).network({.mode = Mode::Host}));
  EXPECT_TRUE(seen.outcome.success()) << seen.outcome.standard_output.text;
  EXPECT_THAT(seen.outcome.violations, IsEmpty());
  const std::string subject = "127.0.0.1:" + port + "/tcp";
  ASSERT_THAT(seen.events, Contains(is("connect", subject.c_str(), Verdict::Allow)));
  EXPECT_EQ(seen.events.back().rule, "network: host (the default)");
}

TEST(Watch, TellsOfProgramsOnRequest) {
  RunOptions options = captured();
  options.observe_processes = true;
  Words programs;
  for (const Event& event : watch(shell("ls / | cat >/dev/null"), options).all)
    if (event.kind == Event::Kind::Process) programs.push_back(event.subject);
  EXPECT_THAT(programs, Contains("/usr/bin/ls"));
  EXPECT_THAT(programs, Contains("/usr/bin/cat"));
}

// Also one that executes nothing, by whatever call it is made. A thread is none.
TEST(Watch, TellsOfProcessesThatAreMade) {
  RunOptions options = captured();
  options.observe_processes = true;
  for (const bool files : {false, true}) {
    options.observe_files = files;
    for (const auto& [what, made] : {std::pair{"fork", 1}, {"vfork", 1}, {"thread", 0}}) {
      const Seen seen = watch(sandboxed({misbehave("make_process"), what}), options);
      EXPECT_TRUE(seen.outcome.success()) << what;
      EXPECT_EQ(std::count_if(seen.all.begin(), seen.all.end(),
                              [](const Event& event) { return event.act == "fork"; }),
                made)
          << what;
      if (made == 0) continue;
      EXPECT_THAT(seen.all,
                  Contains(AllOf(Field(&Event::kind, Event::Kind::Process),
                                 is("fork", misbehave("make_process").c_str(), Verdict::None))));
    }
  }
  const Seen seen = watch(sandboxed({"bash", "-c", "(:; (: & wait)) & wait"}), options);
  std::vector<std::size_t> depths;
  for (const Event& event : seen.all)
    if (event.act == "fork") depths.push_back(event.processes.size());
  EXPECT_THAT(depths, ElementsAre(1U, 2U, 3U)) << "each by the one before";
}

// What was seen of the command when it was still to be started is not what it is.
TEST(Watch, TheLastOfAChainIsTheCommandAlsoIfProgramsAreTold) {
  RunOptions options = captured();
  options.observe_processes = true;
  const Seen seen = watch(shell(in_shell("reach") + " port 127.0.0.1 1000; true"), options);
  ASSERT_THAT(seen.events, Contains(is("connect", "127.0.0.1:1000/tcp", Verdict::Deny)));
  const Event& event = seen.events.back();
  ASSERT_EQ(event.processes.size(), 2U);
  EXPECT_EQ(event.processes[0].executable, misbehave("reach"));
  EXPECT_THAT(event.processes[1].executable, ::testing::EndsWith("sh"));
}

TEST(OnViolation, KillEndsTheRunAtOnce) {
  const TempDir dir;
  const Seen seen = watch(shell(in_shell("reach") + " port 127.0.0.1 1000; sleep " + long_sleep())
                              .on_violation(OnViolation::Kill)
                              .output(dir / "out"));
  const auto* ended = std::get_if<EndedByViolation>(&seen.outcome.ending);
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->violation.subject, "127.0.0.1:1000/tcp");
  EXPECT_FALSE(exists(dir / "out"));
}

TEST(OnViolation, FailGoesOnAndPublishesNothing) {
  const TempDir dir;
  for (const bool reaches : {false, true}) {
    const std::string act = reaches ? in_shell("reach") + " port 127.0.0.1 1000; " : "";
    const Seen seen = watch(shell(act + "echo 1 >" + dir / "out/file; echo went on")
                                .on_violation(OnViolation::Fail)
                                .output(dir / "out"));
    EXPECT_THAT(seen.outcome.standard_output.text, ::testing::HasSubstr("went on\n"));
    EXPECT_TRUE(seen.outcome.success());
    EXPECT_EQ(seen.outcome.violations.size(), reaches ? 1U : 0U);
    EXPECT_EQ(exists(dir / "out"), !reaches);
    std::filesystem::remove_all(dir / "out");
  }
}

TEST(OnViolation, ReportPublishesWhatTheCommandMade) {
  const TempDir dir;
  const Seen seen =
      watch(shell(in_shell("reach") + " port 127.0.0.1 1000; echo 1 >" + dir / "out/file")
                .output(dir / "out"));
  EXPECT_EQ(seen.outcome.violations.size(), 1U);
  EXPECT_TRUE(exists(dir / "out/file"));
}

std::size_t open_descriptors() { return names_of("/proc/self/fd").size(); }

TEST(WatchUnderAttack, LosesNothingOfAStorm) {
  constexpr int kProcesses = 50;
  constexpr int kTimes = 40;
  const std::size_t before = open_descriptors();
  const Seen seen = watch(attempt({"storm", std::to_string(kProcesses), std::to_string(kTimes)}));
  EXPECT_TRUE(seen.outcome.success());
  std::size_t connects = 0;
  for (const Event& event : seen.events) {
    if (event.act != "connect") continue;
    ++connects;
    EXPECT_EQ(event.processes.size(), 2U);
  }
  EXPECT_EQ(connects, std::size_t{kProcesses} * kTimes);
  ASSERT_EQ(seen.outcome.violations.size(), 1U);
  EXPECT_EQ(seen.outcome.violations[0].count, std::uint64_t{kProcesses} * kTimes);
  EXPECT_EQ(open_descriptors(), before);
}

// What was heard may be one or the other; that something was tried is heard each time.
TEST(WatchUnderAttack, HearsOfEachCallWhoseArgumentsAreSwapped) {
  const Seen seen = watch(attempt({"swap", "2000"}));
  EXPECT_LE(seen.outcome.violations.size(), 2U) << "one or the other, and no third";
  std::uint64_t heard = 0;
  for (const Violation& violation : seen.outcome.violations) heard += violation.count;
  EXPECT_EQ(heard, 2000U);
}

// The kernel sees an address of the internet only if hermetic did.
TEST(WatchUnderAttack, HearsOfAddressesThatWereOfAnotherFamily) {
  const Words words = {misbehave("attempt"), "swap-family", "50000"};
  EXPECT_TRUE(soon([&] { return std::stoi(run_plainly(words).text) > 0; }))
      << "some get through where nobody watches";
  const Seen seen = watch(attempt({"swap-family", "2000"}));
  std::uint64_t heard = 0;
  for (const Violation& violation : seen.outcome.violations) heard += violation.count;
  EXPECT_EQ(heard, std::stoull(seen.outcome.standard_output.text));
}

// What hermetic cannot read does not get to the kernel, which could.
TEST(WatchUnderAttack, HearsOfAddressesInMemoryThatCannotBeRead) {
  for (const Mode mode : {Mode::None, Mode::Loopback})
    EXPECT_THAT(subjects(watch(attempt({"hidden"}, mode)).outcome.violations),
                ElementsAre("connect a hidden address", "sendto a hidden address",
                            "sendmsg a hidden address"));
  EXPECT_THAT(subjects(watch(attempt({"familyless"})).outcome.violations),
              ElementsAre("sendto 127.0.0.1:1009/udp"));
}

TEST(WatchUnderAttack, HearsOfThreadsWhoseDescriptorsAreTheirOwn) {
  constexpr unsigned kOfThread = O_EXCL;  // PIDFD_THREAD
  const UniqueFd thread(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), kOfThread)));
  if (!thread.is_open()) GTEST_SKIP() << "Linux 6.9 is the first whose threads can be asked";
  for (const char* how : {"thread", "orphan"})
    EXPECT_THAT(subjects(watch(attempt({how})).outcome.violations),
                ElementsAre("listen 0.0.0.0:0/tcp", "sendto 127.0.0.1:1010/udp"))
        << how;
}

TEST(WatchUnderAttack, TellsProgramsApartThatLookTheSame) {
  const TempDir dir;
  for (const char* name : {"first", "other"})
    std::filesystem::copy_file(misbehave("attempt"), dir / name);
  const Seen seen = watch(sandboxed({dir / "first", "become", dir / "other"})
                              .input(dir / "first")
                              .input(dir / "other"));
  Words who;
  for (const Event& event : seen.events)
    if (event.act == "connect") who.push_back(event.processes.at(0).executable);
  EXPECT_THAT(who, ElementsAre(dir / "first", dir / "other"));
}

// close(2) of the last copy of a socket waits for as long as the command says.
TEST(WatchUnderAttack, IsNotKeptWaitingByWhatItClosesLast) {
  ResourceLimits limits;
  limits.wall_time = std::chrono::seconds(2);
  RunOptions options = captured();
  options.observe_files = true;
  for (const char* way : {"linger", "linger-open"}) {
    const Seen seen = watch(attempt({way}, Mode::Loopback).limits(limits), options);
    EXPECT_TRUE(std::holds_alternative<TimedOut>(seen.outcome.ending)) << way;
  }
}

TEST(WatchUnderAttack, TellsChildrenFromParentsWhoForkInTheMiddle) {
  constexpr std::uint64_t kTimes = 100;
  const Seen seen = watch(attempt({"fork", std::to_string(kTimes)}));
  EXPECT_TRUE(seen.outcome.success());
  // Which of the two comes first is up to the kernel.
  ASSERT_THAT(subjects(seen.outcome.violations),
              UnorderedElementsAre("connect 127.0.0.1:1011/tcp", "connect 127.0.0.1:1012/tcp"));
  for (const Violation& violation : seen.outcome.violations) EXPECT_EQ(violation.count, kTimes);
  // The thread's calls are the command's own, those of the children have it as parent.
  for (const Event& event : seen.events) {
    if (event.act != "connect") continue;
    const bool child = event.subject == "127.0.0.1:1012/tcp";
    EXPECT_EQ(event.processes.size(), child ? 2U : 1U) << event.subject;
  }
}

TEST(WatchUnderAttack, SurvivesThoseWhoDieInTheMiddle) {
  const std::size_t before = open_descriptors();
  const Seen seen = watch(attempt({"die", "100"}));
  EXPECT_TRUE(seen.outcome.success());
  EXPECT_THAT(seen.outcome.violations, Not(IsEmpty()));
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace hermetic
