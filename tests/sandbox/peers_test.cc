// What other sandboxes test of themselves and we did not: see docs/reference/peers.md.
#include <sys/stat.h>

#include <csignal>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using std::chrono_literals::operator""s;

class Peers : public ::testing::TestWithParam<Mounts> {
 protected:
  std::string output_here(const SpecBuilder& builder) { return output_of(builder, GetParam()); }
  const TempDir dir;
};
INSTANTIATE_TEST_SUITE_P(With, Peers, ::testing::Values(Mounts::New, Mounts::Classic),
                         name_of_mounts);

// The places that are mounted without this flag, of a text such as /proc/self/mountinfo is.
Words mounted_without(const std::string& flag, const std::string& mounts) {
  Words places;
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, parent, device, root, place, flags;
    words >> number >> parent >> device >> root >> place >> flags;
    if (("," + flags + ",").find("," + flag + ",") == std::string::npos) places.push_back(place);
  }
  return places;
}

TEST_P(Peers, NoMountLetsAProgramGainPowersAndOnlyDevicesAreDevices) {
  const std::string input = dir.file("input/file", "x");
  const std::string mounts = output_here(sandboxed({"cat", "/proc/self/mountinfo"})
                                             .input(input)
                                             .output(dir / "output")
                                             .temp(dir / "temp"));
  EXPECT_THAT(mounts, HasSubstr(" " + input + " "));
  EXPECT_THAT(mounted_without("nosuid", mounts), ::testing::IsEmpty());
  for (const std::string& place : mounted_without("nodev", mounts))
    EXPECT_TRUE(place.starts_with("/dev/") || place.starts_with("/proc/")) << place;
  const std::string outside = content_of("/proc/self/mountinfo");
  EXPECT_THAT(mounted_without("nosuid", outside), ::testing::Not(::testing::IsEmpty()))
      << "the control";
}

// No old root, no staging folder, no mount point that served while it was made.
TEST_P(Peers, TheRootHoldsWhatThePlanSaysAndNothingElse) {
  const SpecBuilder builder = sandboxed({"ls", "-A", "/"}).env("LC_ALL", "C");
  const Plan plan =
      make_plan(builder.build().value(), LinuxBackend::make(GetParam()).value().probe()).value();
  std::set<std::string> names;
  for (const ViewEntry& entry : plan.view)
    if (const std::size_t end = entry.path.find('/', 1); entry.path != "/")
      names.insert(entry.path.substr(1, end - 1));
  std::string expected;
  for (const std::string& name : names) expected += name + "\n";
  EXPECT_EQ(output_here(builder), expected);
}

TEST_P(Peers, TheUmaskOfTheCallerDoesNotMatter) {
  const mode_t before = ::umask(0077);
  EXPECT_EQ(run_plainly({"sh", "-c", "umask"}).text, "0077\n") << "the control";
  EXPECT_EQ(output_here(shell("umask; touch /tmp/x; stat -c %a /tmp/x")), "0022\n644\n");
  ::umask(before);
}

TEST_P(Peers, BuiltInDirectoriesHaveTheModesThatProgramsExpect) {
  EXPECT_EQ(output_here(sandboxed({"stat", "-c", "%a %n", "/tmp", "/dev/shm", "/", "/etc"})),
            "1777 /tmp\n1777 /dev/shm\n755 /\n755 /etc\n");
}

TEST_P(Peers, APseudoterminalCanBeOpened) {
  const Words command = {"script", "-qec", "tty", "/dev/null"};
  EXPECT_EQ(output_here(sandboxed(command)), "/dev/pts/0\r\n");
}

TEST_P(Peers, AnEmptyDirectoryIsThereAsAnInput) {
  const std::string empty = dir.directory("empty");
  const std::string script = "cd '" + empty + "' && pwd && ls -A";
  EXPECT_EQ(output_here(shell(script).input(empty)), empty + "\n");
  EXPECT_NE(run(shell(script), captured(), GetParam()).ending, Ending(Exited{0})) << "the control";
}

TEST_P(Peers, TheOwnHostNameCanBeLookedUp) {
  EXPECT_THAT(output_here(sandboxed({"getent", "hosts", "box"}).hostname("box")),
              HasSubstr("127.0.0.1"));
  const Outcome other =
      run(sandboxed({"getent", "hosts", "crate"}).hostname("box"), captured(), GetParam());
  EXPECT_EQ(other.ending, Ending(Exited{2})) << "the control: " << other.standard_output.text;
}

TEST(PeersEnding, WhatWasWrittenBeforeTheTimeLimitIsKept) {
  const Outcome outcome =
      run(shell("echo before; echo also >&2; sleep 1000; echo after").limits({.wall_time = 3s}));
  EXPECT_EQ(outcome.ending, Ending(TimedOut{3s}));
  EXPECT_EQ(outcome.standard_output.text, "before\n");
  EXPECT_EQ(outcome.standard_error.text, "also\n");
}

// The ending of a command that says when it is ready and is then asked to end.
Ending asked_to_end(const std::string& script) {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  LinuxBackend backend = LinuxBackend::make().value();
  Audience events;
  const Plan plan = make_plan(shell(script).build().value(), backend.probe()).value();
  auto run = backend
                 .start(plan,
                        {.standard_input = -1,
                         .standard_output = writer.get(),
                         .standard_error = writer.get()},
                        events)
                 .value();
  writer.reset();
  char ready = 0;
  EXPECT_EQ(::read(reader.get(), &ready, 1), 1);
  run->signal(SIGTERM);
  return run->wait().value().ending;
}

TEST(PeersEnding, ACommandThatHandlesASignalEndsAsItLikes) {
  const std::string wait = "echo ready; while :; do sleep 0.05; done";
  EXPECT_EQ(asked_to_end("trap 'exit 0' TERM; " + wait), Ending(Exited{0}));
  EXPECT_EQ(asked_to_end("trap 'exit 17' TERM; " + wait), Ending(Exited{17}));
  EXPECT_EQ(asked_to_end(wait), Ending(Signaled{SIGTERM})) << "the control";
}

// How `act` leaves a process that leads a group of its own: the code of its exit, or 128 + signal.
int in_own_group(const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    ::_exit(act());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(PeersEnding, ASignalToItsOwnGroupDoesNotReachTheCaller) {
  const std::string script = "kill -TERM 0; sleep 1000";
  EXPECT_EQ(in_own_group([&] {
              const Result<Finished> finished = try_run(shell(script));
              return finished && finished->outcome.ending == Ending(Signaled{SIGTERM}) ? 7 : 1;
            }),
            7);
  EXPECT_EQ(in_own_group([&] {
              return run_plainly({"sh", "-c", script}).code;
            }),
            128 + SIGTERM)
      << "the control";
}

}  // namespace
}  // namespace hermetic
