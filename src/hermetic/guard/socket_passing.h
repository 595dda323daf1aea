// Sockets that are made in the sandbox's network namespace and used outside it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "hermetic/base/unique_fd.h"

namespace hermetic::guard {

inline constexpr std::size_t kMostPassedSockets = 253;  // in one message, says the kernel

// What sendmsg(2) and recvmsg(2) take, with room for so many.
struct SocketMessage {
  SocketMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  SocketMessage(const SocketMessage&) = delete;
  SocketMessage& operator=(const SocketMessage&) = delete;

  char byte = 0;
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostPassedSockets * sizeof(int))> control = {};
  msghdr message = {};
};

// Makes unbound sockets and sends them through `channel`: of IPv6 that takes IPv4, too, or of IPv4
// if the kernel was told to have no other. The error's number, or 0.
// ASYNC-SIGNAL-SAFE, by direct calls: it runs in children of processes that have other threads.
inline int pass_sockets(int channel, std::size_t tcp, std::size_t udp) {
  const std::size_t count = tcp + udp;
  if (count > kMostPassedSockets) return E2BIG;
  SocketMessage sent;
  sent.message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&sent.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  int* sockets = reinterpret_cast<int*>(CMSG_DATA(header));
  int family = AF_INET6;
  int error = 0;
  std::size_t made = 0;
  while (made < count && error == 0) {
    const int type = (made < tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const int socket = static_cast<int>(::syscall(SYS_socket, family, type, 0));
    if (socket < 0 && errno == EAFNOSUPPORT && family == AF_INET6) {
      family = AF_INET;
      continue;
    }
    const int off = 0;
    if (socket < 0 || (family == AF_INET6 && ::syscall(SYS_setsockopt, socket, IPPROTO_IPV6,
                                                       IPV6_V6ONLY, &off, sizeof off) != 0))
      error = errno;
    if (socket >= 0) sockets[made++] = socket;
  }
  if (error == 0 && ::syscall(SYS_sendmsg, channel, &sent.message, MSG_NOSIGNAL) < 0) error = errno;
  for (std::size_t i = 0; i < made; ++i) ::syscall(SYS_close, sockets[i]);
  return error;
}

// Those that were sent, if they are there already.
[[nodiscard]] std::vector<UniqueFd> receive_sockets(int channel);

// Further ones of this type, SOCK_STREAM or SOCK_DGRAM, in this network namespace. None if the
// process has not enough descriptors left, the user not another process, or the kernel does not let
// us: that may be otherwise later.
[[nodiscard]] std::vector<UniqueFd> make_more_sockets(int network, int type);

}  // namespace hermetic::guard
