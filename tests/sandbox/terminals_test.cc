// The caller's terminal, of which the command gets one of the sandbox's own.
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>

#include <mutex>
#include <thread>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;

// A terminal, and what is shown on it.
class Screen {
 public:
  explicit Screen(bool read = true) {
    int controller = -1;
    int terminal = -1;
    const winsize size = {.ws_row = 33, .ws_col = 77, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::openpty(&controller, &terminal, nullptr, nullptr, &size), 0);
    controller_ = UniqueFd(controller);
    terminal_ = UniqueFd(terminal);
    if (read) reader_ = std::thread([this] { read_all(); });
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { close(); }

  [[nodiscard]] int terminal() const { return terminal_.get(); }
  void type(std::string_view keys) const {
    EXPECT_EQ(::write(controller_.get(), keys.data(), keys.size()),
              static_cast<ssize_t>(keys.size()));
  }
  bool shows(const std::string& text) {
    return soon([&] {
      const std::lock_guard lock(mutex_);
      return shown_.find(text) != std::string::npos;
    });
  }
  // All that was shown, once nobody has it open any more.
  std::string close() {
    terminal_.reset();
    if (reader_.joinable()) reader_.join();
    return shown_;
  }
  [[nodiscard]] termios modes() const {
    termios modes = {};
    EXPECT_EQ(::tcgetattr(terminal_.get(), &modes), 0);
    return modes;
  }

 private:
  void read_all() {
    std::array<char, 4096> block;
    for (ssize_t size = 0; (size = ::read(controller_.get(), block.data(), block.size())) > 0;) {
      const std::lock_guard lock(mutex_);
      shown_.append(block.data(), static_cast<std::size_t>(size));
    }
  }

  UniqueFd controller_;
  UniqueFd terminal_;
  std::mutex mutex_;
  std::string shown_;
  std::thread reader_;
};

RunOptions on(const Screen& screen) {
  return {.standard_input = screen.terminal(),
          .standard_output = screen.terminal(),
          .standard_error = screen.terminal()};
}

TEST(Terminal, InsideIsOneWithItsOwnNameAndTheSizeOfTheWindow) {
  Screen screen;
  run(shell("tty; stty size; for i in 0 1 2; do test -t $i && echo is$i; done"), on(screen));
  EXPECT_EQ(screen.close(), "/dev/pts/0\r\n33 77\r\nis0\r\nis1\r\nis2\r\n");
}

TEST(Terminal, KeepsTheOrderOfOutputAndError) {
  Screen screen;
  run(shell("for i in 1 2 3; do echo o$i; echo e$i >&2; done"), on(screen));
  EXPECT_EQ(screen.close(), "o1\r\ne1\r\no2\r\ne2\r\no3\r\ne3\r\n");
}

TEST(Terminal, GivesLinesAndEnds) {
  Screen screen;
  screen.type("first\n");
  std::thread typing([&] {
    EXPECT_TRUE(screen.shows("got first"));
    screen.type("part\4");
    EXPECT_TRUE(screen.shows("got part"));
    screen.type("\4");
  });
  const Outcome outcome = run(sandboxed({"python3", "-c",
                                         "import os\n"
                                         "while True:\n"
                                         "  text=os.read(0,100).decode()\n"
                                         "  print('got',text.strip(),len(text),flush=True)\n"
                                         "  if not text: break"}),
                              on(screen));
  typing.join();
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  const std::string shown = screen.close();
  EXPECT_THAT(shown, HasSubstr("got first 6\r\n"));
  EXPECT_THAT(shown, HasSubstr("got part 4\r\n"));
  EXPECT_THAT(shown, HasSubstr("got  0\r\n"));
}

// At most one line is read ahead of the command.
TEST(Terminal, IsReadALineAtATime) {
  Screen screen;
  screen.type("one\ntwo\nthree\nfour\n");
  run(shell("read a; head -n 1; echo $a"), on(screen));
  termios raw = screen.modes();
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  ASSERT_EQ(::tcsetattr(screen.terminal(), TCSANOW, &raw), 0);
  ASSERT_EQ(::fcntl(screen.terminal(), F_SETFL, O_RDWR | O_NONBLOCK), 0);
  std::array<char, 32> left = {};
  (void)::read(screen.terminal(), left.data(), left.size() - 1);
  EXPECT_THAT(left.data(), ::testing::EndsWith("four\n")) << "it is for the caller's next command";
}

TEST(Terminal, ShowsNoPassword) {
  Screen screen;
  const termios before = screen.modes();
  std::thread typing([&] {
    EXPECT_TRUE(screen.shows("word:"));
    EXPECT_EQ(screen.modes().c_lflag & ECHO, 0U);
    screen.type("secret\n");
  });
  run(sandboxed({"python3", "-c", "import getpass; print(len(getpass.getpass('word:')))"}),
      on(screen));
  typing.join();
  const termios after = screen.modes();
  EXPECT_EQ(after.c_lflag, before.c_lflag);
  const std::string shown = screen.close();
  EXPECT_THAT(shown, HasSubstr("6\r\n"));
  EXPECT_THAT(shown, ::testing::Not(HasSubstr("secret")));
}

TEST(Terminal, IsGivenBackAsItWas) {
  Screen screen;
  const termios before = screen.modes();
  std::thread typing([&] {
    EXPECT_TRUE(screen.shows("raw"));
    EXPECT_EQ(screen.modes().c_lflag & (ICANON | ECHO), 0U);
    screen.type("\3");
  });
  const Outcome outcome =
      run(sandboxed({"python3", "-c",
                     "import os,tty\ntty.setraw(0)\nos.write(1,b'raw\\n')\n"
                     "os.write(1,repr(os.read(0,1)).encode())\nos.kill(os.getpid(),9)"}),
          on(screen));
  typing.join();
  EXPECT_EQ(outcome.ending, Ending(Signaled{SIGKILL}));
  const termios after = screen.modes();
  EXPECT_EQ(after.c_lflag, before.c_lflag);
  EXPECT_EQ(after.c_iflag, before.c_iflag);
  EXPECT_EQ(after.c_oflag, before.c_oflag);
  EXPECT_EQ(screen.close(), "raw\nb'\\x03'");
}

// A pager at the end of the pipeline has made the terminal raw: what is typed is for it.
TEST(Terminal, IsNotReadWhileAnotherProgramUsesIt) {
  Screen screen;
  RunOptions options = captured();
  options.standard_input = screen.terminal();
  std::thread pager([&] {
    ::usleep(300'000);
    termios raw = screen.modes();
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ASSERT_EQ(::tcsetattr(screen.terminal(), TCSANOW, &raw), 0);
    screen.type("q");
  });
  run(shell("sleep 1"), options);
  pager.join();
  int waiting = 0;
  ::ioctl(screen.terminal(), FIONREAD, &waiting);
  EXPECT_EQ(waiting, 1);
}

TEST(Terminal, ThatIsNotReadDoesNotHoldUpTheLimit) {
  for (const bool interactive : {false, true}) {
    const Screen screen(false);
    RunOptions options = on(screen);
    options.interactive = interactive;
    const Outcome outcome =
        run(sandboxed({"yes"}).limits({.wall_time = std::chrono::milliseconds(300)}), options);
    EXPECT_TRUE(std::holds_alternative<TimedOut>(outcome.ending)) << interactive;
  }
}

// The flag belongs to all who share the open file, such as the caller's shell.
TEST(Terminal, IsNotMadeNonblocking) {
  Screen screen;
  const int before = ::fcntl(screen.terminal(), F_GETFL);
  run(shell("echo x"), on(screen));
  EXPECT_EQ(::fcntl(screen.terminal(), F_GETFL), before);
}

}  // namespace
}  // namespace hermetic
