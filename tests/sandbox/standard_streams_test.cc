// What the command gets of files, named pipes, sockets and devices that are handed in as standard
// streams: their bytes.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <thread>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;

UniqueFd opened(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  EXPECT_TRUE(fd.is_open()) << path;
  return fd;
}

RunOptions with_input(int descriptor) {
  RunOptions options = captured();
  options.standard_input = descriptor;
  return options;
}

RunOptions with_output(int output, int error = -1) {
  return {.standard_input = -1, .standard_output = output, .standard_error = error};
}

std::string refusal_of(int input) {
  const Result<Finished> finished = try_run(shell("true"), with_input(input));
  return finished ? "it ran" : to_string(finished.error());
}

TEST(FileAsInput, StaysWhereTheCommandStoppedReading) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("in", "0123456789"), O_RDONLY);
  EXPECT_EQ(run(sandboxed({"head", "-c", "3"}), with_input(file.get())).standard_output.text,
            "012");
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 3);
  EXPECT_EQ(run(sandboxed({"cat"}), with_input(file.get())).standard_output.text, "3456789");
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 10);
}

TEST(FileAsInput, StaysWhereItWasIfNothingIsRead) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("in", std::string(3'000'000, 'x')), O_RDONLY);
  ASSERT_EQ(::lseek(file.get(), 5, SEEK_SET), 5);
  run(sandboxed({"true"}), with_input(file.get()));
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 5);
}

TEST(FileAsInput, IsReadWholeWhateverItsSize) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("in", std::string(3'000'001, 'x')), O_RDONLY);
  EXPECT_EQ(run(shell("wc -c"), with_input(file.get())).standard_output.text, "3000001\n");
}

TEST(FileAsInput, FailsToReadIfItIsOpenToBeWritten) {
  const TempDir dir;
  const UniqueFd file = opened(dir / "in", O_WRONLY | O_CREAT);
  EXPECT_THAT(run(sandboxed({"cat"}), with_input(file.get())).standard_error.text,
              HasSubstr("Bad file descriptor"));
}

TEST(FileAsOutput, FailsToWriteIfItIsOpenToBeRead) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("out", "old"), O_RDONLY);
  EXPECT_EQ(run(shell("echo x"), with_output(file.get())).ending, Ending(Exited{1}));
  EXPECT_EQ(content_of(dir / "out"), "old");
}

TEST(FileAsOutput, IsWrittenFromWhereItsOffsetIs) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("out", "0123456789"), O_RDWR);
  ASSERT_EQ(::lseek(file.get(), 2, SEEK_SET), 2);
  run(shell("printf AB"), with_output(file.get()));
  run(shell("printf CD"), with_output(file.get()));
  EXPECT_EQ(content_of(dir / "out"), "01ABCD6789");
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 6);
}

TEST(FileAsOutput, IsAppendedTo) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("out", "old\n"), O_WRONLY | O_APPEND);
  const UniqueFd again = opened(dir / "out", O_WRONLY | O_APPEND);
  run(shell("for i in 1 2 3; do echo o$i; echo e$i >&2; done"),
      with_output(file.get(), again.get()));
  EXPECT_EQ(content_of(dir / "out"), "old\no1\ne1\no2\ne2\no3\ne3\n");
}

TEST(FileAsOutput, KeepsTheOrderOfOutputAndError) {
  const TempDir dir;
  const UniqueFd file = opened(dir / "out", O_WRONLY | O_CREAT);
  std::string expected;
  for (int i = 0; i < 50; ++i)
    expected += "o" + std::to_string(i) + "\ne" + std::to_string(i) + "\n";
  run(shell("i=0; while [ $i -lt 50 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done"),
      with_output(file.get(), file.get()));
  EXPECT_EQ(content_of(dir / "out"), expected);
}

TEST(FileAsOutput, TakesALargeAmount) {
  const TempDir dir;
  const UniqueFd file = opened(dir / "out", O_WRONLY | O_CREAT);
  EXPECT_EQ(run(sandboxed({misbehave("flood"), "64", "1"}), with_output(file.get())).ending,
            Ending(Exited{0}));
  EXPECT_EQ(std::filesystem::file_size(dir / "out"), 64U << 20U);
}

TEST(FileAsOutput, IsNotMadeLargerThanTheLimitOfFiles) {
  const TempDir dir;
  const UniqueFd file = opened(dir / "out", O_WRONLY | O_CREAT);
  const Outcome outcome =
      run(shell("head -c 3000000 /dev/zero").limits({.file_size_bytes = 100'000}),
          with_output(file.get()));
  EXPECT_EQ(outcome.ending, Ending(OverLimit{"file_size", 100'001, 100'000}));
  EXPECT_EQ(std::filesystem::file_size(dir / "out"), 100'000U);
}

TEST(FileAsOutput, CountsAsWrittenToDisk) {
  const TempDir dir;
  const UniqueFd file = opened(dir / "out", O_WRONLY | O_CREAT);
  SpecBuilder builder = shell("head -c 3000000 /dev/zero").limits({.disk_write_bytes = 1'000'000});
  builder.give_up("disk-write-limit");
  const Outcome outcome = run(builder, with_output(file.get()));
  const auto* over = std::get_if<OverLimit>(&outcome.ending);
  ASSERT_NE(over, nullptr);
  EXPECT_EQ(over->which, "disk_write");
}

// The command may not look whether it can write; the caller learns that not all is there.
TEST(FileAsOutput, OnAFullDiskIsAnErrorOfTheRun) {
  const Answer answer = ask_with_own_mounts([]() -> std::string {
    const TempDir dir;
    if (::mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0) return "no tmpfs";
    std::string said;
    {
      const UniqueFd file = opened(dir / "out", O_WRONLY | O_CREAT);
      const Result<Finished> finished =
          try_run(shell("head -c 3000000 /dev/zero; sleep 0.1; exit 0"), with_output(file.get()));
      said = finished ? "it succeeded" : to_string(finished.error());
    }
    ::umount2(dir.path().c_str(), MNT_DETACH);
    return said;
  });
  EXPECT_THAT(answer.text, HasSubstr("cannot write standard output: No space left on device"));
}

TEST(OneOpenFile, ToReadAndToWriteIsRefused) {
  const TempDir dir;
  const UniqueFd file = opened(dir.file("both", "x"), O_RDWR);
  RunOptions options = with_output(file.get());
  options.standard_input = file.get();
  const Result<Finished> finished = try_run(shell("true"), options);
  ASSERT_FALSE(finished);
  EXPECT_THAT(to_string(finished.error()), HasSubstr("are the same open file"));
}

TEST(NamedPipe, CarriesBothWays) {
  const TempDir dir;
  for (const char* name : {"in", "out"}) ASSERT_EQ(::mkfifo((dir / name).c_str(), 0600), 0);
  const UniqueFd in = opened(dir / "in", O_RDWR);
  UniqueFd in_reader = opened(dir / "in", O_RDONLY);
  const UniqueFd out = opened(dir / "out", O_RDWR);
  ASSERT_EQ(::write(in.get(), "line\n", 5), 5);
  RunOptions options = with_output(out.get());
  options.standard_input = in_reader.get();
  EXPECT_EQ(run(shell("read a; echo got $a"), options).ending, Ending(Exited{0}));
  std::array<char, 32> block = {};
  EXPECT_EQ(::read(out.get(), block.data(), block.size()), 9);
  EXPECT_STREQ(block.data(), "got line\n");
}

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};
Pipe make_pipe() {
  std::array<int, 2> ends = {-1, -1};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return {.reader = UniqueFd(ends[0]), .writer = UniqueFd(ends[1])};
}

std::string all_of(int pipe) {
  std::string text;
  std::array<char, 65536> block;
  for (ssize_t size = 0; (size = ::read(pipe, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(size));
  return text;
}

// As the loop of a shell expects it, whose commands all have the pipe that it reads itself.
TEST(PipeAsInput, StaysWhereTheCommandStoppedReading) {
  Pipe pipe = make_pipe();
  ASSERT_EQ(::write(pipe.writer.get(), "one\ntwo\nthree\nfour\n", 19), 19);
  const Words read_a_line = {"sh", "-c", "read a; echo $a"};
  EXPECT_EQ(run(sandboxed({"true"}), with_input(pipe.reader.get())).ending, Ending(Exited{0}));
  for (const char* expected : {"one\n", "two\n"})
    EXPECT_EQ(run(sandboxed(read_a_line), with_input(pipe.reader.get())).standard_output.text,
              expected);
  pipe.writer.reset();
  EXPECT_EQ(run(sandboxed(read_a_line), with_input(pipe.reader.get())).standard_output.text,
            "three\n");
  EXPECT_EQ(all_of(pipe.reader.get()), "four\n");
}

// In pieces of any size, so that each side meets the other full, empty and in between.
TEST(PipeAsInput, IsReadWhole) {
  for (const std::size_t piece : {std::size_t{7}, std::size_t{4096}, std::size_t{100'000}}) {
    Pipe pipe = make_pipe();
    std::string text;
    for (std::size_t i = 0; text.size() < piece * 700 && text.size() < 3'000'000; ++i)
      text += std::to_string(i) + "\n";
    std::thread writing([&] {
      for (std::size_t at = 0; at < text.size(); at += piece)
        (void)::write(pipe.writer.get(), text.data() + at, std::min(piece, text.size() - at));
      pipe.writer.reset();
    });
    RunOptions options = with_input(pipe.reader.get());
    options.capture_bytes = std::size_t{1} << 22U;
    const Outcome outcome = run(shell("dd bs=3001 count=3 status=none; cat"), options);
    writing.join();
    EXPECT_EQ(outcome.standard_output.text == text, true) << piece;
  }
}

TEST(PipeAsInput, IsReadWhileMoreComes) {
  Pipe pipe = make_pipe();
  std::thread writing([&] {
    for (const char* line : {"a\n", "b\n", "c\n"}) {
      ASSERT_EQ(::write(pipe.writer.get(), line, 2), 2);
      ::usleep(150'000);
    }
    pipe.writer.reset();
  });
  const Outcome outcome =
      run(shell("while read x; do echo got $x; done"), with_input(pipe.reader.get()));
  writing.join();
  EXPECT_EQ(outcome.standard_output.text, "got a\ngot b\ngot c\n");
}

// A caller may wait for the run first, and read then.
TEST(PipeAsOutput, HasRoomForAsManyLinesAsWithoutARelay) {
  Pipe pipe = make_pipe();
  const Outcome outcome = run(shell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done")
                                  .limits({.wall_time = std::chrono::seconds(60)}),
                              with_output(pipe.writer.get()));
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  pipe.writer.reset();
  EXPECT_EQ(all_of(pipe.reader.get()).size(), 18'890U);
}

TEST(PipeAsOutput, KeepsTheOrderOfPiecesOfAllSizes) {
  Pipe pipe = make_pipe();
  std::string read;
  std::thread reading([&] { read = all_of(pipe.reader.get()); });
  run(sandboxed({"python3", "-c",
                 "import os\n"
                 "for i in range(60):\n"
                 "  text=(str(i)+' ').encode()*(1,10,40000)[i%3]\n"
                 "  while text: text=text[os.write(1+i%2,text):]"}),
      with_output(pipe.writer.get(), pipe.writer.get()));
  pipe.writer.reset();
  reading.join();
  std::string expected;
  constexpr std::array<int, 3> kTimes = {1, 10, 40000};
  for (std::size_t i = 0; i < 60; ++i)
    for (int times = kTimes.at(i % 3); times > 0; --times) expected += std::to_string(i) + " ";
  EXPECT_EQ(read == expected, true) << read.size() << " of " << expected.size();
}

// As tail(1) does, which may have nothing to write for a long time.
TEST(PipeAsOutput, TellsACommandThatItsReaderIsGone) {
  Pipe pipe = make_pipe();
  std::thread leaving([&] {
    ::usleep(300'000);
    pipe.reader.reset();
  });
  const Outcome outcome = run(sandboxed({"python3", "-c",
                                         "import select,sys\n"
                                         "p=select.poll(); p.register(1,0)\n"
                                         "sys.exit(0 if p.poll(60000) else 1)"}),
                              with_output(pipe.writer.get()));
  leaving.join();
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
}

TEST(PipeAsOutput, WithoutAReaderEndsTheCommand) {
  Pipe pipe = make_pipe();
  pipe.reader.reset();
  EXPECT_EQ(run(sandboxed({"yes"}), with_output(pipe.writer.get())).ending,
            Ending(Signaled{SIGPIPE}));
}

TEST(StreamSocket, CarriesBothWaysAndNoDescriptors) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  ASSERT_EQ(::write(ours.get(), "line\n", 5), 5);
  RunOptions options = with_output(theirs.get());
  options.standard_input = theirs.get();
  const Outcome outcome =
      run(sandboxed({"python3", "-c",
                     "import os,socket,stat,sys\n"
                     "kinds=[stat.S_ISFIFO(os.fstat(n).st_mode) for n in (0,1)]\n"
                     "print(sys.stdin.readline().strip(), *kinds)"}),
          options);
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  std::array<char, 64> block = {};
  ASSERT_GT(::read(ours.get(), block.data(), block.size() - 1), 0);
  EXPECT_STREQ(block.data(), "line True True\n");
}

TEST(DeviceAsStream, IsThatOfTheSandbox) {
  const UniqueFd zero = opened("/dev/zero", O_RDONLY);
  EXPECT_EQ(run(shell("head -c 3 | wc -c; readlink /proc/self/fd/0"), with_input(zero.get()))
                .standard_output.text,
            "3\n/dev/zero\n");
  const UniqueFd full = opened("/dev/full", O_WRONLY);
  EXPECT_EQ(run(shell("echo x"), with_output(full.get())).ending, Ending(Exited{1}));
}

// What carries no bytes, or more than bytes.
TEST(OtherObjects, AreRefusedByName) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd datagram[] = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd packets[] = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const TempDir dir;
  const UniqueFd directory = opened(dir.path(), O_RDONLY | O_DIRECTORY);
  const UniqueFd place = opened(dir.file("file", "x"), O_PATH);
  const UniqueFd poller(::epoll_create1(EPOLL_CLOEXEC));
  const UniqueFd counter(::eventfd(0, EFD_CLOEXEC));
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const UniqueFd names = opened("/proc/self/ns/net", O_RDONLY);
  const UniqueFd controller(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  for (const int descriptor :
       {datagram[0].get(), packets[0].get(), listener.get(), directory.get(), place.get(),
        poller.get(), counter.get(), process.get(), names.get(), controller.get()}) {
    ASSERT_GE(descriptor, 0);
    EXPECT_THAT(refusal_of(descriptor), HasSubstr("standard input is ")) << descriptor;
  }
}

// Nothing outside that does not read or write holds up the limit: these tests end.
TEST(StalledPeer, DoesNotHoldUpTheLimit) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const UniqueFd pipe = opened(dir / "pipe", O_RDWR);
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd sockets[] = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  const Pipe unnamed = make_pipe();
  const ResourceLimits limits{.wall_time = std::chrono::milliseconds(300)};
  for (const int silent : {pipe.get(), unnamed.reader.get(), sockets[0].get()}) {
    const Outcome reading = run(sandboxed({"cat"}).limits(limits), with_input(silent));
    EXPECT_TRUE(std::holds_alternative<TimedOut>(reading.ending));
  }
  for (const int unread : {pipe.get(), unnamed.writer.get(), sockets[0].get()}) {
    const Outcome writing = run(sandboxed({"yes"}).limits(limits), with_output(unread, unread));
    EXPECT_TRUE(std::holds_alternative<TimedOut>(writing.ending));
    // All was said before the limit, but nobody has taken it.
    const Outcome last = run(shell("head -c 100000 /dev/zero").limits(limits), with_output(unread));
    EXPECT_TRUE(std::holds_alternative<TimedOut>(last.ending));
  }
}

// Without a limit, a reader may take its time.
TEST(SlowReader, GetsEverything) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const UniqueFd reader = opened(dir / "pipe", O_RDWR);
  std::uint64_t total = 0;
  std::thread reading([&] {
    ::usleep(2'500'000);  // longer than the patience after a limit
    std::vector<char> block(65536);
    while (total < 400'000) {
      const ssize_t size = ::read(reader.get(), block.data(), block.size());
      if (size <= 0) return;
      total += static_cast<std::uint64_t>(size);
    }
  });
  const UniqueFd writer = opened(dir / "pipe", O_WRONLY);
  EXPECT_EQ(run(shell("head -c 400000 /dev/zero"), with_output(writer.get())).ending,
            Ending(Exited{0}));
  reading.join();
  EXPECT_EQ(total, 400'000U);
}

}  // namespace
}  // namespace hermetic
