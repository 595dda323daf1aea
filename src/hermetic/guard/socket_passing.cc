#include "hermetic/guard/socket_passing.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace hermetic::guard {
namespace {

constexpr std::size_t kMoreSockets = 64;

// Half of what the process may have is left to connections, which take several each.
bool has_room_for_sockets(int descriptor) {
  const UniqueFd next(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  rlimit limit = {};
  return next.is_open() && ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(next.get()) + 2 * kMoreSockets < limit.rlim_cur / 2;
}

// In a process of its own, which has nothing but direct calls: others may hold locks.
[[noreturn]] void enter_and_pass(int user, int network, int channel, int type) {
  // EINVAL: it is our own already.
  const bool is_there = ::syscall(SYS_setns, user, CLONE_NEWUSER) == 0 || errno == EINVAL;
  const bool is_tcp = type == SOCK_STREAM;
  if (is_there && ::syscall(SYS_setns, network, CLONE_NEWNET) == 0)
    (void)pass_sockets(channel, is_tcp ? kMoreSockets : 0, is_tcp ? 0 : kMoreSockets);
  for (;;) ::syscall(SYS_exit_group, 0);
}

}  // namespace

std::vector<UniqueFd> receive_sockets(int channel) {
  SocketMessage received;
  std::vector<UniqueFd> sockets;
  if (::recvmsg(channel, &received.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0) return sockets;
  const cmsghdr* header = CMSG_FIRSTHDR(&received.message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return sockets;
  const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
    sockets.emplace_back(descriptor);
  }
  return sockets;
}

std::vector<UniqueFd> make_more_sockets(int network, int type) {
  if (!has_room_for_sockets(network)) return {};
  const UniqueFd user(::ioctl(network, NS_GET_USERNS));
  std::array<int, 2> ends = {-1, -1};
  if (!user.is_open() || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return {};
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of the caller's runs in the child
  // Memory of its own: entering a user namespace changes what others may do with a process, and
  // that would be said of our memory. No signal when it ends, so that the caller hears of nobody.
  int pidfd = -1;
  const long child = ::syscall(SYS_clone, CLONE_PIDFD, nullptr, &pidfd, nullptr, nullptr);
  if (child == 0) enter_and_pass(user.get(), network, theirs.get(), type);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return {};
  const UniqueFd handle(pidfd);
  siginfo_t information = {};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &information, WEXITED | __WALL) != 0 &&
         errno == EINTR) {
  }
  return receive_sockets(ours.get());
}

}  // namespace hermetic::guard
