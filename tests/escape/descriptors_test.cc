// Ways out through what the caller had open, said, or listens on.
#include <arpa/inet.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>
#include <thread>

#include "hermetic/backends/linux/facts.h"
#include "tests/escape/escape.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Escape, InheritedDescriptors) {
  const TempDir dir;
  const UniqueFd secret(::open(dir.file("secret", "canary").c_str(), O_RDONLY));
  const UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY));
  const UniqueFd ninth(::dup2(secret.get(), 9));
  const UniqueFd high(::fcntl(root.get(), F_DUPFD, 500));
  EXPECT_EQ(attempt(sandboxed({misbehave("list_descriptors")})).output, "0 1 2 denied 9 EBADF\n");
  EXPECT_THAT(run_plainly({misbehave("list_descriptors")}).text, HasSubstr(" 9 "));
}

TEST(Escape, InheritedDescriptorIsRead) {
  const TempDir dir;
  const UniqueFd secret(::open(dir.file("secret", "canary").c_str(), O_RDONLY));
  const UniqueFd ninth(::dup2(secret.get(), 9));
  const std::string script = "cat /proc/self/fd/9 /dev/fd/9 2>/dev/null; cat <&9 2>/dev/null; true";
  EXPECT_EQ(attempt(shell(script)).output, "");
  EXPECT_THAT(run_plainly({"sh", "-c", script}).text, HasSubstr("canary"));
}

// runc left a directory of the host open and let the container name it as its own.
TEST(Escape, CVE_2024_21626_LeakedDirectoryAsWorkingDirectory) {
  const TempDir dir;
  dir.file("secret", "canary");
  const UniqueFd leaked(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY));
  const UniqueFd seventh(::dup2(leaked.get(), 7));
  for (const char* place : {"/proc/self/fd/7", "/dev/fd/7", "/proc/self/fd/3", "/proc/1/cwd"}) {
    const Attempt inside = attempt(sandboxed({"cat", "secret"}).directory(place));
    EXPECT_NE(inside.ending, Ending(Exited{0})) << place;
    EXPECT_THAT(inside.output, Not(HasSubstr("canary"))) << place;
  }
  EXPECT_EQ(run_plainly({"env", "-C", "/proc/self/fd/7", "cat", "secret"}).text, "canary");
}

// Standard input is the caller's own, but a directory there is a window: what Landlock does not
// know of, as chmod(), would go through it.
TEST(Escape, CVE_2024_21626_DirectoryAsStandardInput) {
  const TempDir dir;
  const std::string secret = dir.file("window/secret", "canary");
  std::filesystem::permissions(secret, std::filesystem::perms(0640));
  for (const int flags : {O_RDONLY | O_DIRECTORY, O_PATH | O_DIRECTORY}) {
    const UniqueFd window(::open((dir / "window").c_str(), flags | O_CLOEXEC));
    RunOptions options = captured();
    options.standard_input = window.get();
    const Attempt inside =
        attempt(shell("cat /proc/self/fd/0/secret; chmod 0644 /proc/self/fd/0/secret"), options);
    EXPECT_THAT(inside.output, Not(HasSubstr("canary")));
    EXPECT_THAT(inside.refusal, HasSubstr("directory"));
    struct stat status = {};
    ASSERT_EQ(::stat(secret.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0640U);
    EXPECT_EQ(run_plainly({"cat", "/proc/self/fd/0/secret"}, window.get()).text, "canary");
  }
}

// A file that was opened to append is opened anew to be changed.
TEST(Escape, ReopenOfStandardInputWithOtherRights) {
  if (linux_backend::landlock_abi_of_this_kernel() < 3)
    GTEST_SKIP() << "truncate() is not among what Landlock of this kernel knows; see SECURITY.md";
  const TempDir dir;
  const std::string log = dir.file("log", "canary");
  const UniqueFd file(::open(log.c_str(), O_RDONLY | O_CLOEXEC));
  RunOptions options = captured();
  options.standard_input = file.get();
  for (const char* way : {"/proc/self/fd/0", "/dev/stdin", "/dev/fd/0"}) {
    const Attempt inside = attempt(sandboxed({misbehave("path_act"), "truncate", way}), options);
    EXPECT_EQ(inside.ending, Ending(Exited{1})) << way;
    EXPECT_EQ(content_of(log), "canary") << way;
  }
  EXPECT_EQ(run_plainly({misbehave("path_act"), "truncate", "/proc/self/fd/0"}, file.get()).code,
            0);
  EXPECT_EQ(content_of(log), "");
}

UniqueFd listen_on(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(fd.get(), 16), 0);
  return fd;
}

TEST(Escape, AbstractUnixSocket) {
  const std::string name = "hermetic-escape-" + std::to_string(::getpid());
  const UniqueFd server = listen_on(std::string(1, '\0') + name);
  expect_refused(sandboxed({}), {misbehave("reach"), "abstract", name}, {ECONNREFUSED, EPERM},
                 Outside::Succeeds);
  // With the host's network only Landlock stands in between, if it knows of such sockets.
  if (linux_backend::landlock_abi_of_this_kernel() < 6) return;
  expect_refused(sandboxed({}).network({.mode = NetworkPolicy::Mode::Host}),
                 {misbehave("reach"), "abstract", name}, {EPERM}, Outside::Unknown);
}

TEST(Escape, UnixSocketThatIsNotDeclared) {
  const TempDir dir;
  const UniqueFd server = listen_on(dir / "socket");
  for (const char* prefix : {"", "/proc/self/root", "/proc/self/cwd"})
    expect_refused(sandboxed({}), {misbehave("reach"), "path", prefix + dir / "socket"}, {ENOENT},
                   Outside::Unknown);
  EXPECT_EQ(run_plainly({misbehave("reach"), "path", dir / "socket"}).code, 0);
}

// A service in an input can be talked to if it is allowed by name, and can hand out what it likes.
// A directory of the host that it hands out is still no way to the files below: Landlock knows none
// of them.
TEST(Escape, SCM_RIGHTS_DirectoryThroughASocketInAnInput) {
  const TempDir dir;
  const std::string secret = dir.file("outside/secret", "canary");
  const UniqueFd server = listen_on(dir.directory("in") + "/socket");
  const UniqueFd window(::open((dir / "outside").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::thread accomplice([&] {
    while (true) {
      const UniqueFd client(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.is_open()) return;
      char byte = 'x';
      iovec data = {.iov_base = &byte, .iov_len = 1};
      alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
      msghdr message = {};
      message.msg_iov = &data;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int descriptor = window.get();
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
      (void)::sendmsg(client.get(), &message, MSG_NOSIGNAL);
    }
  });
  const Words client = {
      "python3", "-c",
      "import os,socket\ns=socket.socket(socket.AF_UNIX)\ns.connect('" + dir / "in/socket" +
          "')\nfd=socket.recv_fds(s,1,1)[1][0]\nprint('received')\n"
          "try: print(os.read(os.open('secret',os.O_RDONLY,dir_fd=fd),9).decode())\n"
          "except OSError as e: print(e.strerror)"};
  EXPECT_EQ(attempt(sandboxed(client).input(dir / "in")).output, "");
  EXPECT_EQ(attempt(sandboxed(client).input(dir / "in").unix_socket(dir / "in/socket")).output,
            "received\nPermission denied\n");
  EXPECT_EQ(run_plainly(client).text, "received\ncanary\n");
  ::shutdown(server.get(), SHUT_RDWR);
  accomplice.join();
}

TEST(Escape, PortOfTheHost) {
  sockaddr_in loopback = {};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof loopback;
  auto* const address = reinterpret_cast<sockaddr*>(&loopback);
  const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(server.get(), address, size), 0) << "is loopback up?";
  ASSERT_EQ(::listen(server.get(), 16), 0);
  ASSERT_EQ(::getsockname(server.get(), address, &size), 0);
  const Words act = {misbehave("reach"), "port", "127.0.0.1",
                     std::to_string(ntohs(loopback.sin_port))};
  expect_refused(sandboxed({}), act, {ENETUNREACH}, Outside::Succeeds);
  expect_refused(sandboxed({}).network({.mode = NetworkPolicy::Mode::Loopback}), act,
                 {ECONNREFUSED}, Outside::Succeeds);
}

// The terminal of the caller is standard input. Nobody can type into it, and it stays the caller's.
TEST(Escape, TIOCSTI_OnTheInheritedTerminal) {
  int master = -1;
  int terminal = -1;
  ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
  const UniqueFd both[] = {UniqueFd(master), UniqueFd(terminal)};
  RunOptions options = captured();
  options.standard_input = terminal;
  const std::string script =
      "import fcntl,sys,termios\n"
      "for name,argument in [('TIOCSTI',b'x'),('TIOCSCTTY',0),('TIOCLINUX',b'\\3')]:\n"
      "  request=getattr(termios,name)\n"
      "  try: fcntl.ioctl(0,request,argument); print(name,'done')\n"
      "  except OSError as e: print(name,e.errno)\n"
      "try: open('/dev/tty'); print('tty')\n"
      "except OSError as e: pass\n";
  const std::string inside = attempt(sandboxed({"python3", "-c", script}), options).output;
  EXPECT_THAT(inside, HasSubstr("TIOCSTI 1\n"));
  EXPECT_THAT(inside, HasSubstr("TIOCLINUX 1\n"));
  EXPECT_THAT(inside, Not(HasSubstr("TIOCSTI done")));
  int waiting = 0;
  ::ioctl(terminal, FIONREAD, &waiting);
  EXPECT_EQ(waiting, 0);  // nothing was typed
  const std::string control = run_plainly({"setsid", "python3", "-c", script}, terminal).text;
  EXPECT_THAT(control, Not(HasSubstr("TIOCLINUX 1\n")));
}

// What a command writes is the caller's to print. What hermetic itself says about it is not.
TEST(Escape, EscapeSequencesInWhatHermeticSays) {
  const TempDir dir;
  const std::string name = "\x1b]0;owned\a\x1b[31m\r\n";
  dir.file("secret/" + name, "canary");
  const std::string fifo = "mkfifo " + dir / "out" + "/\"$(printf '\\033]0;owned\\007')\"";
  const Attempt refused = attempt(shell(fifo).output(dir / "out"));
  EXPECT_THAT(refused.refusal, HasSubstr("not published"));
  EXPECT_THAT(refused.refusal, Not(HasSubstr("\x1b")));
  EXPECT_THAT(refused.refusal, HasSubstr("owned"));
  if (sandbox_is_open()) return;
  const Plain said =
      run_plainly({"sh", "-c",
                   "exec 2>&1; '" HERMETIC_PROGRAM "'"
                   " run --explain --dir / -- sh -c 'cat \"$1\" 2>/dev/null; exit 1' sh "
                   "\"$0\"",
                   dir / ("secret/" + name)});
  EXPECT_THAT(said.text, HasSubstr("owned")) << "the name is not in it at all";
  EXPECT_THAT(said.text, Not(HasSubstr("\x1b")));
  // As the name of the command itself, which the status line and the remark at the end show.
  const Plain remark = run_plainly({"sh", "-c",
                                    "exec 2>&1; '" HERMETIC_PROGRAM "'"
                                    " run --dir / -- \"$0\"",
                                    "/no/" + name});
  EXPECT_THAT(remark.text, HasSubstr("owned"));
  EXPECT_THAT(remark.text, Not(HasSubstr("\x1b")));
}

// The line at the bottom of the terminal names the command while it runs.
TEST(Escape, EscapeSequencesInTheStatusLine) {
  NOT_TRIED_IN_THE_OPEN("there is no status line without hermetic");
  if (run_plainly({"script", "--version"}).code != 0) GTEST_SKIP() << "no script(1) here";
  const TempDir dir;
  const std::string program = dir.file("\x1b]0;owned\a", "#!/bin/sh\nsleep 1.5\n");
  std::filesystem::permissions(program, std::filesystem::perms::all);
  ::setenv("ESCAPE_PROGRAM", program.c_str(), 1);
  const std::string text =
      run_plainly({"script", "-qec",
                   "stty rows 24 cols 200; TERM=xterm '" HERMETIC_PROGRAM "'"
                   " run --dir / --input \"$ESCAPE_PROGRAM\" -- \"$ESCAPE_PROGRAM\"",
                   "/dev/null"})
          .text;
  ::unsetenv("ESCAPE_PROGRAM");
  EXPECT_THAT(text, HasSubstr("hermetic: 1s"));
  EXPECT_THAT(text, HasSubstr("owned"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b]0;owned")));
}

TEST(Escape, EnvironmentSmuggling) {
  const TempDir dir;  // at a path without spaces, which separate libraries
  std::filesystem::copy_file(misbehave("preload.so"), dir / "preload.so");
  const Words smuggled = {"LD_PRELOAD=" + (dir / "preload.so"), "BASH_ENV=/etc/passwd",
                          "SECRET_TOKEN=canary", "IFS=x", "GLIBC_TUNABLES=glibc.malloc.check=1"};
  Words plainly = {"env"};
  plainly.insert(plainly.end(), smuggled.begin(), smuggled.end());
  Words inside = plainly;
  for (const char* word : {HERMETIC_PROGRAM, "run", "--dir", "/", "--", "env"})
    inside.emplace_back(word);
  plainly.emplace_back("env");
  const std::string text = run_plainly(sandbox_is_open() ? plainly : inside).text;
  for (const char* name : {"LD_PRELOAD", "BASH_ENV", "SECRET_TOKEN", "IFS", "GLIBC_TUNABLES"})
    EXPECT_THAT(text, Not(HasSubstr(name)));
  EXPECT_THAT(text, HasSubstr("PATH="));
  EXPECT_THAT(run_plainly(plainly).text, HasSubstr("SECRET_TOKEN=canary"));
}

}  // namespace
}  // namespace hermetic
