// Ways out through the objects that the caller hands in as standard streams: their bytes are the
// command's, their modes, owners, times, attributes, sizes and locks are not.
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "tests/escape/escape.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;

// Everything about a descriptor that is not a byte to read or write. One line for what succeeds.
constexpr const char* kActs =
    "import ctypes,fcntl,os,struct,termios\n"
    "def attempt(name,act):\n"
    "  try: act(); print(name,'done')\n"
    "  except (OSError,termios.error) as e: print(name,e.args[0])\n"
    "attempt('fchmod',lambda:os.fchmod(0,0o4777))\n"
    "attempt('chmod',lambda:os.chmod('/proc/self/fd/0',0o4777))\n"
    "attempt('fchown',lambda:os.fchown(0,os.getuid(),os.getgid()))\n"
    "attempt('futimens',lambda:os.utime(0,(1,1)))\n"
    "attempt('fsetxattr',lambda:os.setxattr(0,'user.escape',b'x'))\n"
    "attempt('ftruncate',lambda:os.ftruncate(0,1))\n"
    "attempt('fallocate',lambda:os.posix_fallocate(0,0,100000))\n"
    "attempt('FS_IOC_SETFLAGS',lambda:fcntl.ioctl(0,0x40086602,struct.pack('l',0x40)))\n"
    "attempt('lseek',lambda:os.lseek(0,3,0))\n"
    "attempt('F_SETFL',lambda:fcntl.fcntl(0,fcntl.F_SETFL,os.O_NONBLOCK|os.O_APPEND))\n"
    "attempt('F_SETSIG',lambda:fcntl.fcntl(0,10,9))\n"
    "attempt('F_SETPIPE_SZ',lambda:fcntl.fcntl(0,1031,1<<18))\n"
    "attempt('TIOCEXCL',lambda:fcntl.ioctl(0,termios.TIOCEXCL))\n"
    "attempt('TIOCSWINSZ',lambda:fcntl.ioctl(0,termios.TIOCSWINSZ,struct.pack('4H',9,9,0,0)))\n"
    "attempt('TCXONC',lambda:termios.tcflow(0,termios.TCOOFF))\n"
    "for flags in (os.O_RDWR,os.O_WRONLY|os.O_TRUNC):\n"
    "  attempt('reopen',lambda:os.ftruncate(os.open('/proc/self/fd/0',flags),1))\n";

struct Object {
  std::string name;
  UniqueFd descriptor;
  UniqueFd other;  // its other side, which must stay open
};

// All that could be changed about it but its content.
std::string state_of(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return "gone";
  std::array<char, 256> names = {};
  const ssize_t attributes = ::flistxattr(descriptor, names.data(), names.size());
  long flags = 0;
  const bool flagged = ::ioctl(descriptor, 0x80086601 /* FS_IOC_GETFLAGS */, &flags) == 0;
  winsize size = {};
  int exclusive = 0;
  if (::isatty(descriptor) == 1) {
    ::ioctl(descriptor, TIOCGWINSZ, &size);
    ::ioctl(descriptor, TIOCGEXCL, &exclusive);
  }
  std::ostringstream text;
  text << std::oct << status.st_mode << std::dec << " " << status.st_uid << " " << status.st_gid
       << " " << status.st_mtim.tv_sec << " " << status.st_ctim.tv_sec << "."
       << status.st_ctim.tv_nsec << " " << (S_ISREG(status.st_mode) ? status.st_size : 0) << " "
       << attributes << " " << (flagged ? flags : 0) << " " << ::fcntl(descriptor, F_GETFL) << " "
       << ::fcntl(descriptor, F_GETSIG) << " " << ::fcntl(descriptor, F_GETPIPE_SZ) << " "
       << size.ws_row << " " << exclusive << " " << ::lseek(descriptor, 0, SEEK_CUR);
  return text.str();
}

Object make_object(const TempDir& dir, const std::string& kind, bool output) {
  Object object{.name = kind, .descriptor = {}, .other = {}};
  const std::string path = dir / kind;
  if (kind == "File") {
    dir.file(kind, "canary");
    object.descriptor = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  } else if (kind == "NamedPipe") {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    object.descriptor = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  } else if (kind == "Pipe") {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    object.descriptor = UniqueFd(ends[output ? 1 : 0]);
    object.other = UniqueFd(ends[output ? 0 : 1]);
  } else if (kind == "Terminal") {
    int controller = -1;
    int terminal = -1;
    EXPECT_EQ(::openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
    object.descriptor = UniqueFd(terminal);
    object.other = UniqueFd(controller);
  } else if (kind == "Device" && ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    // One of the test's own: what is done to it would be done to /dev/null.
    object.descriptor = UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  return object;
}

class StreamWayOut : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, StreamWayOut,
                         ::testing::Values("File", "Pipe", "NamedPipe", "Terminal", "Device"),
                         [](const auto& kind) { return std::string(kind.param) + "AsAStream"; });

TEST_P(StreamWayOut, ChangesNothingOfTheObject) {
  const TempDir dir;
  for (const bool output : {false, true}) {
    if (output && sandbox_is_open()) continue;  // only standard input is given in the open
    std::filesystem::remove(dir / GetParam());
    const Object object = make_object(dir, GetParam(), output);
    if (!object.descriptor.is_open())
      GTEST_SKIP() << "a plain user makes no devices, and so none on this file system";
    ASSERT_EQ(::fcntl(object.descriptor.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string before = state_of(object.descriptor.get());
    RunOptions options = captured();
    std::string acts = kActs;
    if (output) {
      // The object is standard output, to which nothing is written, and the same acts are on it.
      options.capture_bytes.reset();
      options.standard_output = object.descriptor.get();
      options.standard_error = -1;
      acts = "import os\nos.dup2(1,0)\nos.dup2(2,1)\n" + acts;
    } else {
      options.standard_input = object.descriptor.get();
    }
    const Attempt inside = attempt(sandboxed({"python3", "-c", acts}), options);
    EXPECT_EQ(inside.refusal, "");
    if (!output) {
      EXPECT_THAT(inside.output, HasSubstr("reopen")) << inside.errors;
    }
    EXPECT_EQ(state_of(object.descriptor.get()), before) << inside.output;
    if (output || sandbox_is_open()) continue;
    // The control.
    run_plainly({"python3", "-c", acts}, object.descriptor.get());
    EXPECT_NE(state_of(object.descriptor.get()), before);
    (void)::ioctl(object.descriptor.get(), TIOCNXCL);
  }
}

std::string waiting_in(int pipe) {
  EXPECT_EQ(::fcntl(pipe, F_SETFL, O_NONBLOCK), 0);
  std::array<char, 256> block = {};
  const ssize_t size = ::read(pipe, block.data(), block.size());
  return {block.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

// A pipe has two ends, and /proc gives its user both: what a shell reads its script from could be
// written to, and the shell would carry it out.
TEST(Escape, WritingIntoThePipeThatIsRead) {
  for (const char* place : {"/proc/self/fd/0", "/dev/stdin"}) {
    std::array<int, 2> ends = {-1, -1};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    const UniqueFd reader(ends[0]);
    const UniqueFd writer(ends[1]);
    ASSERT_EQ(::write(writer.get(), "script\n", 7), 7);
    RunOptions options = captured();
    options.standard_input = reader.get();
    const Words act = {"sh", "-c", std::string("echo escape >") + place};
    attempt(sandboxed(act), options);
    EXPECT_EQ(waiting_in(reader.get()), "script\n");
    if (sandbox_is_open()) continue;
    ASSERT_EQ(::write(writer.get(), "script\n", 7), 7);
    run_plainly(act, reader.get());
    EXPECT_EQ(waiting_in(reader.get()), "script\nescape\n");
  }
}

// What others have said into the same pipe, and nobody has read yet.
TEST(Escape, ReadingFromThePipeThatIsWritten) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const auto read_other_end = [](int descriptor) {
    return Words{"python3", "-c",
                 "import os\n"
                 "try: os.read(os.open('/proc/self/fd/" +
                     std::to_string(descriptor) +
                     "',os.O_RDONLY|os.O_NONBLOCK),99)\n"
                     "except OSError: pass"};
  };
  ASSERT_EQ(::write(writer.get(), "secret\n", 7), 7);
  RunOptions options{.standard_input = -1, .standard_output = writer.get(), .standard_error = -1};
  if (sandbox_is_open()) options.standard_input = writer.get();
  attempt(sandboxed(read_other_end(sandbox_is_open() ? 0 : 1)), options);
  EXPECT_EQ(waiting_in(reader.get()), "secret\n");
  if (sandbox_is_open()) return;
  ASSERT_EQ(::write(writer.get(), "secret\n", 7), 7);
  run_plainly(read_other_end(0), writer.get());
  EXPECT_EQ(waiting_in(reader.get()), "");
}

// Through a socket the command would get descriptors, or connect it elsewhere.
TEST(Escape, SCM_RIGHTS_ThroughASocketAsAStream) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const UniqueFd secret(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A descriptor waits in the socket: whoever has the socket can take it out.
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
  const int descriptor = secret.get();
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ASSERT_EQ(::sendmsg(ours.get(), &message, MSG_NOSIGNAL), 1);
  RunOptions options = captured();
  options.standard_input = theirs.get();
  const Words act = {"python3", "-c",
                     "import os,socket\n"
                     "try: print(len(socket.recv_fds(socket.socket(fileno=0),1,1)[1]),'received')\n"
                     "except OSError as e: print(e.strerror)\n"
                     "os._exit(0) if print('',end='',flush=True) is None else 0"};
  EXPECT_EQ(attempt(sandboxed(act), options).output, "Socket operation on non-socket\n");
  if (sandbox_is_open()) return;
  ASSERT_EQ(::sendmsg(ours.get(), &message, MSG_NOSIGNAL), 1);
  EXPECT_EQ(run_plainly(act, theirs.get()).text, "1 received\n");
}

}  // namespace
}  // namespace hermetic
