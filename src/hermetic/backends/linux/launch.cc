#include "hermetic/backends/linux/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "hermetic/guard/socket_passing.h"

namespace hermetic::linux_backend {
namespace {

constexpr int kFirstHighDescriptor = 10;  // above those that the child arranges
constexpr std::size_t kChildStackBytes = std::size_t{64} * 1024;

// A signal handler of the caller must not run in the child, which shares its memory.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_ = {};
};

// clone(2) by the C library's other name for it: the thread sanitizer takes clone() for a fork()
// that copies the memory, and is confused when it does not.
extern "C" int start_process(int (*function)(void*), void* stack, int flags, void* argument,
                             ...) asm("__clone");

int enter_child(void* argument) { run_child(*static_cast<const Script*>(argument)); }

Error namespace_error(int os_error) {
  switch (os_error) {
    case EPERM:
    case EACCES:
      return unsupported("this host does not let you make user namespaces",
                         "as root: sysctl -w kernel.unprivileged_userns_clone=1 (Debian), or "
                         "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a "
                         "container, allow "
                         "clone() with CLONE_NEWUSER");
    case ENOSPC:
    case EUSERS:
      return unsupported("the limit of namespaces is reached",
                         "as root: sysctl -w user.max_user_namespaces=15000; inside another "
                         "sandbox, it must allow "
                         "nested namespaces");
    case EINVAL:
      return unsupported(
          "this kernel lacks one of the user, mount, pid, network, ipc, uts and cgroup namespaces",
          "use a kernel that was built with them");
    default: return system_error("cannot make the namespaces", os_error);
  }
}

}  // namespace

Result<UniqueFd> raise(int descriptor) {
  UniqueFd high(::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstHighDescriptor));
  if (!high.is_open()) return system_error("cannot copy a descriptor", errno);
  return high;
}

Result<Channel> make_channel() {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return system_error("cannot make a socket pair", errno);
  Channel channel;
  channel.ours = UniqueFd(ends[0]);
  const UniqueFd low(ends[1]);
  channel.theirs = TRY(raise(low.get()));
  return channel;
}

NetworkGuard::Sockets receive_guard_sockets(int socket) {
  NetworkGuard::Sockets sockets;
  for (UniqueFd& one : guard::receive_sockets(socket))
    (sockets.tcp.size() < kTcpSockets ? sockets.tcp : sockets.udp).push_back(std::move(one));
  return sockets;
}

Result<Launched> launch(const LoweredScript& script, int init, Channel channel,
                        NetworkNamespace network) {
  const ssize_t sent = ::send(channel.ours.get(), script.init_message.data(),
                              script.init_message.size(), MSG_NOSIGNAL);
  if (sent < 0) return system_error("cannot tell init what to do", errno);

  Script borrowed{.steps = script.steps,
                  .init = init,
                  .report_socket = channel.theirs.get(),
                  .argv = script.argv.data(),
                  .envp = script.envp.data()};
  int namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (network == NetworkNamespace::Own) namespaces |= CLONE_NEWNET;

  // CLONE_VM | CLONE_VFORK: the child borrows our memory instead of copying our page tables, so
  // that starting a command costs the same from a large process as from a small one. No exit signal
  // is asked for, but execve() sets SIGCHLD: a handler or a wait() of the caller may learn of init,
  // and nothing here relies on being the one who reaps it.
  alignas(16) std::array<std::byte, kChildStackBytes> stack;
  int pidfd = -1;
  int pid = -1;
  int clone_error = 0;
  {
    const SignalsBlocked blocked;
    pid = start_process(&enter_child, stack.data() + stack.size(),
                        CLONE_VM | CLONE_VFORK | CLONE_PIDFD | namespaces, &borrowed, &pidfd);
    clone_error = errno;
  }
  if (pid < 0) return namespace_error(clone_error);
  return Launched{UniqueFd(pidfd), std::move(channel.ours), pid};
}

}  // namespace hermetic::linux_backend
