// Standard input, output and error, and that no other descriptor gets in.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

TEST(Streams, BothAreCapturedSeparately) {
  const Outcome outcome = run(shell("echo out; echo err >&2"));
  EXPECT_EQ(outcome.standard_output.text, "out\n");
  EXPECT_EQ(outcome.standard_error.text, "err\n");
  EXPECT_FALSE(outcome.standard_output.truncated);
}

TEST(Streams, MuchOnBothAtOnceDoesNotBlock) {
  RunOptions options = captured();
  options.capture_bytes = 1000;
  const Outcome outcome = run(sandboxed({misbehave("flood"), "64", "1", "2"}), options);
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  EXPECT_EQ(outcome.standard_output.text, std::string(1000, 'x'));
  EXPECT_EQ(outcome.standard_error.text.size(), 1000U);
  EXPECT_TRUE(outcome.standard_output.truncated);
  EXPECT_TRUE(outcome.standard_error.truncated);
}

TEST(Streams, WhatFitsTheCapExactlyIsNotTruncated) {
  RunOptions options = captured();
  options.capture_bytes = 4;
  EXPECT_FALSE(run(shell("printf 1234"), options).standard_output.truncated);
  EXPECT_TRUE(run(shell("printf 12345"), options).standard_output.truncated);
}

TEST(Streams, ALargeAmountGoesThroughAPipeOfTheCaller) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::uint64_t total = 0;
  std::thread counting([&] {
    std::vector<char> block(std::size_t{1} << 20U);
    for (ssize_t size = 0; (size = ::read(reader.get(), block.data(), block.size())) > 0;)
      total += static_cast<std::uint64_t>(size);
  });
  const Outcome outcome = run(sandboxed({misbehave("flood"), "1024", "1"}),
                              {.standard_input = -1, .standard_output = writer.get()});
  writer.reset();
  counting.join();
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  EXPECT_EQ(total, 1024ULL << 20U);
}

// Nobody but the command holds the caller's pipe: its end is seen although the run goes on.
TEST(Streams, APipeEndsWhenTheCommandClosesIt) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::string text;
  std::chrono::steady_clock::time_point end_seen;
  std::thread reading([&] {
    std::array<char, 100> block;
    for (ssize_t size = 0; (size = ::read(reader.get(), block.data(), block.size())) > 0;)
      text.append(block.data(), static_cast<std::size_t>(size));
    end_seen = std::chrono::steady_clock::now();
  });
  LinuxBackend backend = LinuxBackend::make().value();
  Audience events;
  const Plan plan =
      make_plan(shell("echo x; exec >&-; sleep 0.5").build().value(), backend.probe()).value();
  const auto started =
      backend.start(plan, {.standard_input = -1, .standard_output = writer.get()}, events);
  ASSERT_TRUE(started);
  writer.reset();
  EXPECT_EQ((*started)->wait().value().ending, Ending(Exited{0}));
  const auto ended = std::chrono::steady_clock::now();
  reading.join();
  EXPECT_EQ(text, "x\n");
  EXPECT_GT(ended - end_seen, std::chrono::milliseconds(200));
}

TEST(Streams, StandardInputIsEmptyAFileOrAPipe) {
  const TempDir dir;
  EXPECT_EQ(run(shell("wc -c")).standard_output.text, "0\n");
  const UniqueFd file(::open(dir.file("in", "content").c_str(), O_RDONLY | O_CLOEXEC));
  RunOptions options = captured();
  options.standard_input = file.get();
  EXPECT_EQ(run(sandboxed({"cat"}), options).standard_output.text, "content");
}

TEST(Streams, ACommandMayLeaveItsInputUnread) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);  // stays open: nobody waits for the end of it
  RunOptions options = captured();
  options.standard_input = reader.get();
  EXPECT_EQ(run(shell("exit 6"), options).ending, Ending(Exited{6}));
}

// The command hands its standard output to somebody outside who keeps it open.
TEST(Streams, OneThatWasGivenAwayDoesNotHoldTheRunUp) {
  const TempDir dir;
  const std::string name = dir.directory("in") + "/socket";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(server.get(), 1), 0);  // what is sent waits in the queue, its descriptor open
  const Outcome outcome =
      run(sandboxed({"python3", "-c",
                     "import socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('" + name +
                         "')\nsocket.send_fds(s,[b'x'],[1])\nprint('given')"})
              .input(dir / "in")
              .unix_socket(name)
              .limits({.wall_time = std::chrono::seconds(20)}));
  EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_error.text;
  EXPECT_EQ(outcome.standard_output.text, "given\n");
}

// The streams can be crossed, doubled and taken from any number.
TEST(Streams, AnyDescriptorCanBecomeAnyStream) {
  const TempDir dir;
  const UniqueFd a(::open((dir / "a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd b(::open((dir / "b").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  run(shell("echo out; echo err >&2"),
      {.standard_input = -1, .standard_output = b.get(), .standard_error = a.get()});
  EXPECT_EQ(content_of(dir / "a"), "err\n");
  EXPECT_EQ(content_of(dir / "b"), "out\n");
  run(shell("echo both; echo both >&2"),
      {.standard_input = -1, .standard_output = a.get(), .standard_error = a.get()});
  EXPECT_EQ(content_of(dir / "a"), "err\nboth\nboth\n");
}

TEST(Streams, WorkWhenTheCallerHasClosedItsOwn) {
  for (const char* closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    const TempDir dir;
    const pid_t child = ::fork();
    if (child == 0) {
      if (std::strchr(closed, '<') != nullptr) ::close(0);
      if (std::string_view(closed).find(" >") != std::string_view::npos || closed[0] == '>')
        ::close(1);
      if (std::string_view(closed).find('2') != std::string_view::npos) ::close(2);
      const Result<Finished> finished = try_run(shell("exit 3"), captured());
      ::_exit(finished && finished->outcome.ending == Ending(Exited{3}) ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << closed;
  }
}

TEST(Descriptors, NoneIsInherited) {
  const TempDir dir;
  const std::string secret = dir.file("secret", "canary");
  // Without close-on-exec, as careless programs open them: a file, a directory, and a high number.
  const UniqueFd file(::open(secret.c_str(), O_RDONLY));
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY));
  const UniqueFd ninth(::dup2(file.get(), 9));
  const UniqueFd high(::fcntl(directory.get(), F_DUPFD, 200));
  const Words act = {misbehave("list_descriptors")};
  const Outcome outcome = run(sandboxed(act));
  EXPECT_EQ(outcome.standard_output.text, "0 1 2 denied 9 EBADF\n");
  const Plain plain = run_plainly(act);  // the control
  EXPECT_EQ(plain.code, 0);
  EXPECT_THAT(plain.text, ::testing::HasSubstr(" 9 "));
  EXPECT_EQ(output_of(sandboxed({"ls", "/proc/self/fd"})), "0\n1\n2\n3\n");  // 3 is ls's own
}

TEST(Descriptors, TheCallerKeepsItsOwn) {
  const auto count = [] { return names_of("/proc/self/fd").size(); };
  run(shell("true"));
  const std::size_t before = count();
  for (int i = 0; i < 20; ++i) run(shell("true"));
  (void)try_run(sandboxed({"true"}).input("/no/such/input"));
  run(sandboxed({"no-such-command"}));
  EXPECT_EQ(count(), before);
}

TEST(Descriptors, AFewAreEnough) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few = {100, 100};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const Result<Finished> finished = try_run(shell("exit 3"), captured());
    if (!finished) std::fprintf(stderr, "%s\n", to_string(finished.error()).c_str());
    ::_exit(finished && finished->outcome.ending == Ending(Exited{3}) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// --explain remembers what the command asks for, but not without end.
TEST(Observer, RemembersNamesUpToALimit) {
  RunOptions options = captured();
  options.observe_files = true;
  const Outcome few = run(shell("cat /no/such/file; :"), options);
  EXPECT_THAT(few.asked, ::testing::Contains(AskedPath{.path = "/no/such/file",
                                                       .operation = Operation::Read,
                                                       .opened = true,
                                                       .used_before = true}));
  const Outcome many = run(sandboxed({"perl", "-e", "-e \"/no/such/$_\" for 1..21000"}), options);
  EXPECT_EQ(many.ending, Ending(Exited{0})) << many.standard_error.text;
  EXPECT_EQ(many.asked.size(), 20'000U);
}

// Whatever is opened next takes the number of a closed stream: here an input that is looked up.
TEST(Streams, AClosedStreamIsNotReplacedByWhatIsOpenedNext) {
  const UniqueFd saved(::fcntl(0, F_DUPFD_CLOEXEC, 10));
  RunOptions options = captured();
  options.standard_input = 0;
  ::close(0);
  const Outcome outcome = run(sandboxed({"readlink", "/proc/self/fd/0"}), options);
  if (saved.is_open())
    ::dup2(saved.get(), 0);
  else
    ::close(0);
  EXPECT_EQ(outcome.standard_output.text, "/dev/null\n") << outcome.standard_error.text;
}

}  // namespace
}  // namespace hermetic
