// The child's side of a run. ASYNC-SIGNAL-SAFE: no allocation, no locks, no exceptions, no stdio,
// because it runs in the memory of a parent that may have other threads.
// tests/architecture/child_symbols.sh fails if this object file needs any symbol but the system
// calls that it lists.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <linux/rtnetlink.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "hermetic/backends/linux/descriptor_message.h"
#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/kernel.h"
#include "hermetic/backends/linux/script.h"
#include "hermetic/guard/socket_passing.h"

namespace hermetic::linux_backend {
namespace {

constexpr int kNewTime = 0x80;  // CLONE_NEWTIME; clone() would take it for a signal

// Descriptors by direct calls: the C library's functions may be a sanitizer's, which keeps notes in
// the memory that we share with the parent.
int open_at(int directory, const char* path, int flags, unsigned mode = 0) {
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}
void close_descriptor(int descriptor) { ::syscall(SYS_close, descriptor); }
ssize_t write_to(int descriptor, const void* text, std::size_t size) {
  return ::syscall(SYS_write, descriptor, text, size);
}
int copy_descriptor(int from, int to) { return static_cast<int>(::syscall(SYS_dup3, from, to, 0)); }

int errno_if(bool failed) { return failed ? errno : 0; }

// Is this line there already? The kernel waits for others, in a circle, before it lets a setting of
// the network be written, even if that changes nothing.
bool holds_line(const Step& step) {
  std::array<char, 64> line = {};
  const int fd = open_at(AT_FDCWD, step.target, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const long size = ::syscall(SYS_read, fd, line.data(), line.size());
  close_descriptor(fd);
  if (size != static_cast<long>(step.text_size) + 1) return false;
  for (std::size_t i = 0; i < step.text_size; ++i)
    if (*(line.data() + i) != step.text[i]) return false;  // no check that could end in the library
  return true;
}

int write_file(int directory, int flags, const Step& step) {
  const int fd = open_at(directory, step.target, flags | O_CLOEXEC | O_NOFOLLOW,
                         static_cast<unsigned>(step.number));
  if (fd < 0) return errno;
  int error = 0;
  if (step.text_size > 0) {
    const ssize_t written = write_to(fd, step.text, step.text_size);
    if (written < 0) error = errno;
    if (written >= 0 && static_cast<std::uint32_t>(written) != step.text_size) error = ENOSPC;
  }
  close_descriptor(fd);
  return error;
}

int make_directory(const Step& step) {
  if (::mkdir(step.target, static_cast<mode_t>(step.number)) == 0) return 0;
  return step.second == kIfNeeded && errno == EEXIST ? 0 : errno;
}

int remove_file(const Step& step) {
  if (::unlink(step.target) == 0) return 0;
  const bool nothing = errno == ENOENT || errno == EISDIR;
  return step.second == kIfNeeded && nothing ? 0 : errno;
}

// Is this the object that the spec was checked against?
int verify(int fd, const Step& step) {
  if (step.device == 0 && step.inode == 0) return 0;
  struct stat status = {};
  if (::syscall(SYS_fstat, fd, &status) != 0) return errno;
  const std::uint64_t device = (std::uint64_t{major(status.st_dev)} << 32U) | minor(status.st_dev);
  return device == step.device && status.st_ino == step.inode ? 0 : ESTALE;
}

int bind(const Step& step) {
  // open_tree(OPEN_TREE_CLONE | O_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW)
  constexpr unsigned kFlags = 1U | O_CLOEXEC | 0x8000U | 0x100U;
  const int tree = static_cast<int>(::syscall(kSysOpenTree, AT_FDCWD, step.source, kFlags));
  if (tree < 0) return errno;
  int error = verify(tree, step);
  // Where it goes was looked up when the spec was checked: a link that has come there since leads
  // elsewhere.
  open_how how = {};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const int target =
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, step.target, &how, sizeof how));
  if (error == 0 && target < 0) error = errno;
  // move_mount(MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH)
  if (error == 0) error = errno_if(::syscall(kSysMoveMount, tree, "", target, "", 0x44U) != 0);
  if (target >= 0) close_descriptor(target);
  close_descriptor(tree);
  return error;
}

int bind_classic(const Step& step) {
  const int object = open_at(AT_FDCWD, step.source, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (object < 0) return errno;
  int error = verify(object, step);
  close_descriptor(object);
  if (error != 0) return error;
  if (::mount(step.source, step.target, nullptr, MS_BIND | MS_REC, nullptr) != 0) return errno;
  // The name may have changed hands since: look at what is mounted now.
  const int mounted = open_at(AT_FDCWD, step.target, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (mounted < 0) return errno;
  error = verify(mounted, step);
  close_descriptor(mounted);
  return error;
}

int change_mount(const char* target, unsigned flags, const MountAttributes& attributes) {
  return errno_if(
      ::syscall(kSysMountSetattr, AT_FDCWD, target, flags, &attributes, sizeof attributes) != 0);
}

int set_attributes(const Step& step) {
  return change_mount(step.target, 0x8000U /* AT_RECURSIVE */, {.set = step.number});
}

int unseal(const Step& step) { return change_mount(step.target, 0, {.clear = kMountReadOnly}); }

// pivot_root(".", ".") stacks the new root over the old one, so that no directory for the old root
// is needed inside the sandbox; pivot_root(2) documents the idiom.
int pivot_root() {
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno;
  if (::umount2(".", MNT_DETACH) != 0) return errno;
  return errno_if(::chdir("/") != 0);
}

int add_landlock_rule(int ruleset, const Step& step) {
  const int fd = open_at(AT_FDCWD, step.target, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno;
  const LandlockPathBeneath rule{.allowed_access = step.number, .parent_fd = fd};
  const int error =
      errno_if(::syscall(kSysLandlockAddRule, ruleset, 1 /* PATH_BENEATH */, &rule, 0) != 0);
  close_descriptor(fd);
  return error;
}

// With the root user's powers switched off for good, an empty set of capabilities stays empty,
// whatever is executed. The bounding set says the same a second time.
int drop_capabilities() {
  constexpr unsigned long kLocked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE |
                                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  // The bounding set first, which takes a capability: the set of the user namespace that was
  // entered last, and of no other, is what execve() looks at. The first number without a capability
  // ends it.
  for (int capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;) ++capability;
  if (errno != EINVAL) return errno;
  if (::prctl(PR_SET_SECUREBITS, kLocked, 0, 0, 0) != 0) return errno;
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none = {};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return errno;
  return errno_if(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0);
}

// What the caller has set by setarch(1), the filter would not let the command set: page zero
// mapped, say, or all memory executable.
int limit_personality() {
  constexpr unsigned kQuestion = 0xFFFFFFFF;
  const long now = ::syscall(SYS_personality, kQuestion);
  if (now < 0) return errno;
  const long allowed = now & kAllowedPersonality;
  return now == allowed ? 0 : errno_if(::syscall(SYS_personality, allowed) < 0);
}

int move_descriptor(int from, int to) {
  // dup3() refuses equal descriptors, and only a copy loses the close-on-exec flag.
  if (from == to) return errno_if(::syscall(SYS_fcntl, to, F_SETFD, 0) != 0);
  return errno_if(copy_descriptor(from, to) < 0);
}

int raise_loopback() {
  const int fd = static_cast<int>(::syscall(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd < 0) return errno;
  ifreq request = {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  const int error = errno_if(::syscall(SYS_ioctl, fd, SIOCSIFFLAGS, &request) != 0);
  close_descriptor(fd);
  return error;
}

// `ip route add local default dev lo`: whatever is sent stays here, and whoever listens on an
// address, whichever it is, gets what is meant for it.
int make_local(unsigned char family) {
  constexpr unsigned kLoopback = 1;  // the first interface of every namespace
  struct Request {
    nlmsghdr header;
    rtmsg route;
    rtattr attribute;
    unsigned interface;
  };
  const Request request = {
      .header = {.nlmsg_len = sizeof(Request),
                 .nlmsg_type = RTM_NEWROUTE,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                 .nlmsg_seq = 1,
                 .nlmsg_pid = 0},
      .route = {.rtm_family = family,
                .rtm_dst_len = 0,
                .rtm_src_len = 0,
                .rtm_tos = 0,
                .rtm_table = RT_TABLE_LOCAL,
                .rtm_protocol = RTPROT_BOOT,
                .rtm_scope = RT_SCOPE_HOST,
                .rtm_type = RTN_LOCAL,
                .rtm_flags = 0},
      .attribute = {.rta_len = sizeof(rtattr) + sizeof(unsigned), .rta_type = RTA_OIF},
      .interface = kLoopback};
  const int fd =
      static_cast<int>(::syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (fd < 0) return errno;
  struct Reply {
    nlmsghdr header;
    nlmsgerr error;
    nlmsghdr rest;  // the kernel may add to it
  };
  Reply reply = {};
  int error = errno_if(::syscall(SYS_sendto, fd, &request, sizeof request, 0, nullptr, 0) < 0);
  if (error == 0)
    error = errno_if(::syscall(SYS_recvfrom, fd, &reply, sizeof reply, 0, nullptr, nullptr) < 0);
  if (error == 0) error = reply.header.nlmsg_type == NLMSG_ERROR ? -reply.error.error : EPROTO;
  close_descriptor(fd);
  // A kernel that was told to have no IPv6 has no way to where there is none.
  if (family == AF_INET6 && (error == EOPNOTSUPP || error == EAFNOSUPPORT)) return 0;
  return error;
}

int pass_descriptor(int socket, InitReport::Kind kind, int descriptor) {
  InitReport report{.kind = kind};
  DescriptorMessage message(&report, sizeof report);
  message.attach(descriptor);
  return errno_if(::syscall(SYS_sendmsg, socket, message.get(), MSG_NOSIGNAL) < 0);
}

int join_group(int door) { return errno_if(write_to(door, "0", 1) < 0); }

int set_cpus(const Step& step) {
  return errno_if(::syscall(SYS_sched_setaffinity, 0, step.text_size, step.text) < 0);
}

// Above the standard ones: where the caller has closed those, a new descriptor would get such a
// number.
int raised(int descriptor) {
  if (descriptor < 0) return descriptor;
  const auto high = static_cast<int>(::syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, 10));
  const int error = errno;
  close_descriptor(descriptor);
  errno = error;
  return high;
}

class Interpreter {
 public:
  explicit Interpreter(int socket) : socket_(socket) {}

  int apply(const Step& step) {
    switch (step.kind) {
      case Step::Kind::JoinGroup: return join_group(static_cast<int>(step.number));
      case Step::Kind::EnterGroupNamespace: return errno_if(::unshare(CLONE_NEWCGROUP) != 0);
      case Step::Kind::PassProc:
        return pass_descriptor(socket_, InitReport::Kind::Processes, proc_);
      case Step::Kind::WriteFile: return write_file(AT_FDCWD, O_WRONLY, step);
      case Step::Kind::TryWriteFile:
        if (!holds_line(step)) (void)write_file(AT_FDCWD, O_WRONLY, step);
        return 0;
      case Step::Kind::SetHostname: return errno_if(::sethostname(step.text, step.text_size) != 0);
      case Step::Kind::MakePrivate:
        return errno_if(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0);
      case Step::Kind::Mount:
        return errno_if(::mount(step.source, step.target, step.source, step.flags, step.text) != 0);
      case Step::Kind::MakeDirectory: return make_directory(step);
      case Step::Kind::MakeFile: return write_file(AT_FDCWD, O_WRONLY | O_CREAT | O_EXCL, step);
      case Step::Kind::RemoveFile: return remove_file(step);
      case Step::Kind::MakeLink: return errno_if(::symlink(step.text, step.target) != 0);
      case Step::Kind::Bind: return bind(step);
      case Step::Kind::BindClassic: return bind_classic(step);
      case Step::Kind::Unmount:
        return errno_if(::umount2(step.target, MNT_DETACH) != 0 || ::rmdir(step.target) != 0);
      case Step::Kind::Remount:
        return errno_if(::mount(nullptr, step.target, nullptr, MS_BIND | MS_REMOUNT | step.flags,
                                nullptr) != 0);
      case Step::Kind::Mask:
        return errno_if(::mount(step.source, step.target, nullptr, MS_BIND, nullptr) != 0);
      case Step::Kind::Attributes: return set_attributes(step);
      case Step::Kind::Unseal: return unseal(step);
      case Step::Kind::ChangeDirectory: return errno_if(::chdir(step.target) != 0);
      case Step::Kind::PivotRoot: return pivot_root();
      case Step::Kind::KeepProc: return keep_proc(step);
      case Step::Kind::KeepProcClassic: return keep_proc_classic(step);
      case Step::Kind::EnterTimeNamespace: return errno_if(::unshare(kNewTime) != 0);
      case Step::Kind::EnterUserNamespace: return errno_if(::unshare(CLONE_NEWUSER) != 0);
      case Step::Kind::WriteProc: return write_file(proc_, O_WRONLY, step);
      case Step::Kind::Landlock: return begin_landlock(step);
      case Step::Kind::LandlockRule: return add_landlock_rule(ruleset_, step);
      case Step::Kind::LandlockEnforce:
        return errno_if(::syscall(kSysLandlockRestrictSelf, ruleset_, 0) != 0);
      case Step::Kind::SetLimit:
        return errno_if(::setrlimit(static_cast<__rlimit_resource>(step.number), &step.limit) != 0);
      case Step::Kind::SetNice:
        return errno_if(::syscall(SYS_setpriority, PRIO_PROCESS, 0, step.number) != 0);
      case Step::Kind::SetCpus: return set_cpus(step);
      case Step::Kind::DropCapabilities: return drop_capabilities();
      case Step::Kind::LimitPersonality: return limit_personality();
      case Step::Kind::SetUmask:
        return static_cast<void>(::umask(static_cast<mode_t>(step.number))), 0;
      case Step::Kind::OpenTerminal: return open_terminal(step);
      case Step::Kind::OpenDevice: return open_device(step);
      case Step::Kind::PlaceOpened:
        return errno_if(
            copy_descriptor(*(opened_.data() + step.number), static_cast<int>(step.number)) < 0);
      case Step::Kind::RaiseLoopback: return raise_loopback();
      case Step::Kind::MakeLocal: return make_local(static_cast<unsigned char>(step.number));
      case Step::Kind::PassSockets:
        return guard::pass_sockets(static_cast<int>(step.flags), step.number, step.second);
      case Step::Kind::MoveDescriptor:
        return move_descriptor(static_cast<int>(step.number), static_cast<int>(step.second));
      case Step::Kind::CloseDescriptors:
        return errno_if(::syscall(kSysCloseRange, step.number, ~0U, 4U /* CLOEXEC */) != 0);
    }
    return EINVAL;
  }

 private:
  int keep_proc(const Step& step) {
    // open_tree(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)
    proc_ = static_cast<int>(::syscall(kSysOpenTree, AT_FDCWD, step.target, 1U | O_CLOEXEC));
    return errno_if(proc_ < 0);
  }

  // Mounted where it will be covered, and taken off again: the descriptor keeps it.
  int keep_proc_classic(const Step& step) {
    if (::mount("proc", step.target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      return errno;
    proc_ = open_at(AT_FDCWD, step.target, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc_ < 0) return errno;
    return errno_if(::umount2(step.target, MNT_DETACH) != 0);
  }

  int begin_landlock(const Step& step) {
    const LandlockRuleset rules{
        .handled_access_fs = step.number, .handled_access_net = 0, .scoped = step.second};
    // An older kernel takes a shorter structure; what it does not know is zero.
    const std::size_t size = step.second != 0 ? sizeof rules : sizeof rules.handled_access_fs;
    ruleset_ = static_cast<int>(::syscall(kSysLandlockCreateRuleset, &rules, size, 0));
    return errno_if(ruleset_ < 0);
  }

  // The terminal is made inside, so that its name is known there; our side travels to the parent.
  int open_terminal(const Step& step) {
    const int ours = open_at(AT_FDCWD, "/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0) return errno;
    int unlocked = 0;
    if (::syscall(SYS_ioctl, ours, TIOCSPTLCK, &unlocked) != 0) return errno;
    const int theirs = raised(
        static_cast<int>(::syscall(SYS_ioctl, ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)));
    if (theirs < 0) return errno;
    if (step.text_size > 0 && ::syscall(SYS_ioctl, theirs, TCSETS, step.text) != 0) return errno;
    winsize size = {};
    size.ws_row = static_cast<unsigned short>(step.second >> 16U);
    size.ws_col = static_cast<unsigned short>(step.second);
    if (step.second != 0 && ::syscall(SYS_ioctl, ours, TIOCSWINSZ, &size) != 0) return errno;
    for (unsigned place = 0; place < 3; ++place)
      if ((step.number >> place & 1U) != 0) *(opened_.data() + place) = theirs;
    const int error = pass_descriptor(socket_, InitReport::Kind::Terminal, ours);
    close_descriptor(ours);
    return error;
  }

  int open_device(const Step& step) {
    const int device =
        raised(open_at(AT_FDCWD, step.target, static_cast<int>(step.flags) | O_NOCTTY | O_CLOEXEC));
    *(opened_.data() + step.number) = device;
    return errno_if(device < 0);
  }

  int socket_;
  int ruleset_ = -1;
  std::array<int, 3> opened_ = {-1, -1, -1};  // for the standard streams
  int proc_ = -1;
};

[[noreturn]] void fail(int socket, std::uint32_t step, int error) {
  const InitReport report{.kind = InitReport::Kind::StepFailed, .step = step, .os_error = error};
  ::syscall(SYS_sendto, socket, &report, sizeof report, MSG_NOSIGNAL, nullptr, 0);
  ::_exit(125);
}

}  // namespace

void run_child(const Script& script) noexcept {
  Interpreter interpreter(script.report_socket);
  std::uint32_t index = 0;
  for (const Step& step : script.steps) {
    if (const int error = interpreter.apply(step); error != 0)
      fail(script.report_socket, index, error);
    ++index;
  }
  ::syscall(SYS_execveat, script.init, "", script.argv, script.envp, AT_EMPTY_PATH);
  fail(script.report_socket, index, errno);
}

}  // namespace hermetic::linux_backend
