#include "hermetic/backends/observed/trace_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace hermetic::observed {
namespace {

using testing::ElementsAre;

std::vector<Event> told(std::initializer_list<const char*> lines) {
  TraceStory story("rule", "/w");
  for (const char* line : lines) story.add(line, {});
  return story.finish();
}

std::vector<std::string> subjects(const std::vector<Event>& events) {
  std::vector<std::string> result;
  for (const Event& event : events) result.push_back(event.act + " " + event.subject);
  return result;
}

constexpr const char* kShell = R"(1 execve("/bin/sh", ["sh", "-c", "x"], 0x1 /* 3 vars */) = 0)";
constexpr const char* kConnect =
    R"--(connect(3<TCP:[5]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16)--";

TEST(TraceStory, TellsOfProgramsAndAttempts) {
  const std::vector<Event> events =
      told({kShell, (std::string("1 ") + kConnect + ") = -1 ECONNREFUSED (no)").c_str(),
            "1 listen(3<TCPv6:[[::]:8080]>, 5) = 0", "1 io_uring_setup(8, {}) = 4"});
  EXPECT_THAT(subjects(events), ElementsAre("execute /bin/sh", "connect 127.0.0.1:80/tcp",
                                            "listen [::]:8080/tcp", "io_uring_setup io_uring"));
  EXPECT_THAT(events[1].processes.front().arguments, ElementsAre("sh", "-c", "x"));
  EXPECT_EQ(events[1].rule, "rule");
}

TEST(TraceStory, ASearchAlongThePathExecutesOnlyWhatIsThere) {
  EXPECT_THAT(subjects(told({kShell, R"(1 execve("/a/x", ["x"], 0x1) = -1 ENOENT (No such file))",
                             R"(1 execve("/b/x", ["x"], 0x1) = 0)"})),
              ElementsAre("execute /bin/sh", "execute /b/x"));
}

TEST(TraceStory, AChildThatSpeaksFirstStillHasItsParent) {
  const std::string connect = std::string("2 ") + kConnect + " <unfinished ...>";
  const std::vector<Event> events =
      told({kShell, "1 vfork( <unfinished ...>", R"(2 execve("/b/x", ["x", "y"], 0x1) = 0)",
            connect.c_str(), "2 +++ killed by SIGKILL +++", "1 <... vfork resumed>) = 2"});
  ASSERT_THAT(subjects(events), ElementsAre("execute /bin/sh", "execute /b/x",
                                            "connect 127.0.0.1:80/tcp", "fork /bin/sh"));
  ASSERT_EQ(events[2].processes.size(), 2U);
  EXPECT_EQ(events[2].processes[0].executable, "/b/x");
  EXPECT_EQ(events[2].processes[0].parent, 1);
  EXPECT_EQ(events[2].processes[1].executable, "/bin/sh");
}

TEST(TraceStory, AUnixSocketIsTheStepsOwnOrLeadsToAnother) {
  const std::vector<Event> events = told(
      {kShell, R"(1 bind(3<UNIX-STREAM:[1]>, {sa_family=AF_UNIX, sun_path="/tmp/own"}, 110) = 0)",
       R"(1 connect(4<UNIX-STREAM:[2]>, {sa_family=AF_UNIX, sun_path="/tmp/own"}, 110) = 0)",
       R"(1 connect(4<UNIX-STREAM:[2]>, {sa_family=AF_UNIX, sun_path="/none"}, 110) = -1 ENOENT (No))",
       R"(1 connect(4<UNIX-STREAM:[2]>, {sa_family=AF_UNIX, sun_path="/run/a\"b"}, 110) = 0)",
       R"(1 bind(5<UNIX-DGRAM:[3]>, {sa_family=AF_UNIX, sun_path="in"}, 110) = 0)",
       R"(1 bind(6<UNIX-DGRAM:[4]>, {sa_family=AF_UNIX, sun_path=@"abstract"}, 110) = 0)",
       R"(1 sendto(7<UNIX-DGRAM:[5]>, "x", 1, 0, {sa_family=AF_UNIX, sun_path=@"abstract"}, 110) = 1)",
       R"(1 sendto(7<UNIX-DGRAM:[5]>, "x", 1, 0, {sa_family=AF_UNIX, sun_path=@"other"}, 110) = 1)"});
  EXPECT_THAT(subjects(events),
              ElementsAre("execute /bin/sh", "connect /run/a\"b", "bind /w/in", "sendto @other"));
  EXPECT_EQ(events[1].rule, kUnixSocketsRule);
}

TEST(TraceStory, ASocketForPacketsIsTold) {
  EXPECT_THAT(
      subjects(told({kShell, "1 socket(AF_INET, SOCK_RAW|SOCK_CLOEXEC, IPPROTO_ICMP) = 3",
                     "1 socket(AF_PACKET, SOCK_DGRAM, 0) = -1 EPERM (no)",
                     "1 socket(AF_INET, SOCK_STREAM, 0) = 3", "1 socket(AF_UNIX, SOCK_RAW, 0) = 3",
                     "1 socket(AF_VSOCK, SOCK_STREAM, 0) = 3"})),
      ElementsAre("execute /bin/sh", "socket inet/raw", "socket packet", "socket vsock"));
}

TEST(TraceStory, AShortNameIsWhereItsProcessIs) {
  const char* bind = R"( bind(3<UNIX-STREAM:[1]>, {sa_family=AF_UNIX, sun_path="s"}, 110) = 0)";
  const std::string child = std::string("2") + bind;
  const std::string parent = std::string("1") + bind;
  EXPECT_THAT(subjects(told({kShell, R"(1 chdir("/run") = 0)", "1 clone(child_stack=NULL) = 2",
                             R"(2 fchdir(3</srv/a>) = 0)", child.c_str(), R"(1 chdir("b") = 0)",
                             R"(1 chdir("/none") = -1 ENOENT (No))", parent.c_str()})),
              ElementsAre("execute /bin/sh", "fork /bin/sh", "bind /srv/a/s", "bind /run/b/s"));
}

TEST(TraceStory, AThreadIsItsProcess) {
  const std::string connect = std::string("2 ") + kConnect + ") = 0";
  const std::vector<Event> events =
      told({kShell, "1 clone3({flags=CLONE_VM|CLONE_THREAD} => {parent_tid=[2]}, 88) = 2",
            connect.c_str()});
  ASSERT_EQ(events.size(), 2U);
  ASSERT_EQ(events[1].processes.size(), 1U);
  EXPECT_EQ(events[1].processes[0].pid, 1);
}

TEST(TraceStory, TellsOfProcessesThatAreMade) {
  EXPECT_THAT(subjects(told({kShell, "1 fork() = 2", "1 clone(flags=CLONE_VM|CLONE_THREAD) = 3",
                             "3 vfork() = 4", "1 fork() = -1 EAGAIN (no)"})),
              ElementsAre("execute /bin/sh", "fork /bin/sh", "fork /bin/sh"));
}

TEST(TraceStory, ANumberThatIsUsedAgainIsAnotherProcess) {
  const std::string connect = std::string("2 ") + kConnect + ") = 0";
  const std::vector<Event> events = told(
      {kShell, "1 fork() = 2", R"(2 execve("/b/old", ["old"], 0x1) = 0)", "2 +++ exited with 0 +++",
       "1 fork() = 3", R"(3 execve("/b/new", ["new"], 0x1) = 0)", "3 fork() = 2", connect.c_str()});
  ASSERT_EQ(events.back().processes.size(), 3U);
  EXPECT_EQ(events.back().processes[0].executable, "/b/new");
  EXPECT_EQ(events.back().processes[1].pid, 3);
}

TEST(TraceStory, DatagramsOverAConnectedSocketAreToldNotItsConnection) {
  const char* connect =
      R"--(1 connect(3<UDP:[5]>, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("127.0.0.1")}, 16) = 0)--";
  const char* send = R"(1 sendto(3<UDP:[0.0.0.0:7]>, "q", 1, 0, NULL, 0) = 1)";
  EXPECT_THAT(subjects(told({kShell, connect})), ElementsAre("execute /bin/sh"));
  EXPECT_THAT(subjects(told({kShell, connect, send})),
              ElementsAre("execute /bin/sh", "sendto 127.0.0.1:9/udp"));
  EXPECT_THAT(subjects(told({kShell, connect,
                             "1 socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = 3<UDP:[6]>", send})),
              ElementsAre("execute /bin/sh"));
}

TEST(TraceStory, NeighboursAreNoNetwork) {
  EXPECT_THAT(
      subjects(told(
          {kShell,
           R"(1 connect(3<UNIX-STREAM:[5]>, {sa_family=AF_UNIX, sun_path="/x"}, 16) = -1 ENOENT (No))",
           R"(1 sendto(3<NETLINK:[ROUTE:5]>, {nl_pid=1}, 20, 0, {sa_family=AF_NETLINK}, 12) = 20)",
           R"(1 sendto(3<PACKET:[5]>, "x", 1, 0, {sa_family=AF_PACKET, sll_protocol=1}, 20) = 1)"})),
      ElementsAre("execute /bin/sh", "sendto packet"));
}

TEST(TraceStory, KnowsWhetherTheCommandBeganAndEnded) {
  TraceStory story("", "/");
  EXPECT_FALSE(story.command_started());
  story.add(kShell, {});
  EXPECT_EQ(story.command(), 1);
  EXPECT_TRUE(story.command_started());
  story.add("2 +++ exited with 0 +++", {});
  EXPECT_FALSE(story.command_ended());
  story.add("1 +++ exited with 0 +++", {});
  EXPECT_TRUE(story.command_ended());
}

}  // namespace
}  // namespace hermetic::observed
