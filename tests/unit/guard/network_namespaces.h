// Two network namespaces for a test: one that stands for the world, where the test itself lives
// from then on, and one for a sandbox, where every address is local.
#pragma once

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "hermetic/base/check.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/network_guard.h"

namespace hermetic::guard::testing {

inline bool raise_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// ip route add local PREFIX/LENGTH dev lo
inline bool make_local(std::string_view prefix, unsigned char length) {
  const Address address = *parse_address(prefix);
  const bool ipv4 = is_ipv4(address);
  struct {
    nlmsghdr header;
    rtmsg route;
    std::array<char, 64> attributes;
  } message = {};
  message.route.rtm_family = ipv4 ? AF_INET : AF_INET6;
  message.route.rtm_dst_len = length;
  message.route.rtm_table = RT_TABLE_LOCAL;
  message.route.rtm_protocol = RTPROT_STATIC;
  message.route.rtm_scope = RT_SCOPE_HOST;
  message.route.rtm_type = RTN_LOCAL;
  std::size_t used = 0;
  const auto put = [&](unsigned short type, const void* data, std::size_t size) {
    const rtattr attribute = {.rta_len = static_cast<unsigned short>(RTA_LENGTH(size)),
                              .rta_type = type};
    std::memcpy(message.attributes.data() + used, &attribute, sizeof attribute);
    std::memcpy(message.attributes.data() + used + sizeof attribute, data, size);
    used += RTA_SPACE(size);
  };
  const int loopback = 1;
  put(RTA_OIF, &loopback, sizeof loopback);
  if (length > 0) put(RTA_DST, address.data() + (ipv4 ? 12 : 0), ipv4 ? 4 : 16);
  message.header.nlmsg_len =
      static_cast<unsigned>(sizeof message.header + sizeof message.route + used);
  message.header.nlmsg_type = RTM_NEWROUTE;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK;
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (::send(socket.get(), &message, message.header.nlmsg_len, 0) < 0) return false;
  struct {
    nlmsghdr header;
    nlmsgerr error;
    std::array<char, 256> rest;
  } reply = {};
  return ::recv(socket.get(), &reply, sizeof reply, 0) > 0 && reply.error.error == 0;
}

inline bool write_file(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// This process leaves the host's network for good: from here on nothing reaches it.
inline std::string enter_world() {
  static const std::string problem = [] {
    const unsigned user = ::geteuid();
    const unsigned group = ::getegid();
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
      write_file("/proc/self/setgroups", "deny");
      if (!write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") ||
          !write_file("/proc/self/gid_map", "0 " + std::to_string(group) + " 1"))
        return std::string("no user map");
    } else if (::unshare(CLONE_NEWNET) != 0) {
      return std::string("no network namespace: ") + std::strerror(errno);
    }
    if (!raise_loopback()) return std::string("no loopback");
    for (const char* network : {"192.0.2.0", "10.0.0.0", "169.254.169.0"})
      if (!make_local(network, 24)) return std::string("no route to ") + network;
    return std::string(make_local("2001:db8::", 64) ? "" : "no route of IPv6");
  }();
  return problem;
}

inline void send_descriptors(int socket, const std::vector<int>& fds) {
  char byte = 0;
  iovec part = {.iov_base = &byte, .iov_len = 1};
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  ::sendmsg(socket, &message, 0);
}

inline std::vector<UniqueFd> receive_descriptors(int socket) {
  char byte = 0;
  iovec part = {.iov_base = &byte, .iov_len = 1};
  std::array<char, CMSG_SPACE(200 * sizeof(int))> control;
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  std::vector<UniqueFd> fds;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return fds;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return fds;
  std::vector<int> numbers((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(numbers.data(), CMSG_DATA(header), numbers.size() * sizeof(int));
  for (const int fd : numbers) fds.emplace_back(fd);
  return fds;
}

inline UniqueFd sandbox_socket(int type) {
  UniqueFd socket(::socket(AF_INET6, type | SOCK_CLOEXEC, 0));
  const int off = 0;
  ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  return socket;
}

// The namespaces of a sandbox and the sockets that were made in it.
struct Sandbox {
  UniqueFd user;
  UniqueFd network;
  NetworkGuard::Sockets sockets;
};

inline Sandbox make_sandbox(std::size_t tcp, std::size_t udp) {
  std::array<int, 2> ends = {};
  CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWNET) != 0) ::_exit(1);
    if (!raise_loopback() || !make_local("0.0.0.0", 0) || !make_local("::", 0)) ::_exit(2);
    write_file("/proc/sys/net/ipv4/tcp_congestion_control", "reno");  // as in a run
    std::vector<int> fds = {::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC),
                            ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)};
    for (std::size_t i = 0; i < tcp; ++i) fds.push_back(sandbox_socket(SOCK_STREAM).release());
    for (std::size_t i = 0; i < udp; ++i) fds.push_back(sandbox_socket(SOCK_DGRAM).release());
    send_descriptors(theirs.get(), fds);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  Sandbox sandbox;
  std::vector<UniqueFd> fds = receive_descriptors(ours.get());
  CHECK(fds.size() == 2 + tcp + udp);
  sandbox.user = std::move(fds[0]);
  sandbox.network = std::move(fds[1]);
  for (std::size_t i = 0; i < tcp; ++i) sandbox.sockets.tcp.push_back(std::move(fds[2 + i]));
  for (std::size_t i = 0; i < udp; ++i) sandbox.sockets.udp.push_back(std::move(fds[2 + tcp + i]));
  return sandbox;
}

// What a process inside says before it connects or sends, as the observer of a run would.
struct Announcement {
  Address address;
  std::uint16_t port;
  Protocol protocol;
};

class Observer {
 public:
  explicit Observer(int socket) : socket_(socket) {}
  bool announce(std::string_view address, std::uint16_t port, Protocol protocol = Protocol::Tcp) {
    const Announcement announcement{*parse_address(address), port, protocol};
    bool allowed = false;
    return ::send(socket_, &announcement, sizeof announcement, 0) > 0 &&
           ::recv(socket_, &allowed, sizeof allowed, 0) > 0 && allowed;
  }

 private:
  int socket_;
};

inline void drive(NetworkGuard& guard, const std::function<bool()>& is_over,
                  const std::vector<int>& others) {
  const auto end = NetworkGuard::Clock::now() + std::chrono::seconds(100);
  while (!is_over() && NetworkGuard::Clock::now() < end) {
    std::vector<pollfd> polled = {{guard.descriptor(), POLLIN, 0}};
    for (const int fd : others) polled.push_back({fd, POLLIN, 0});
    int wait = 1000;
    if (const auto due = guard.due()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(*due - NetworkGuard::Clock::now());
      wait = static_cast<int>(std::clamp<long>(left.count(), 0, wait));
    }
    ::poll(polled.data(), polled.size(), wait);
    guard.serve();
  }
}

// Runs `body` in a process inside the sandbox and serves it meanwhile. The text that it returns, ""
// for success, and what went wrong otherwise.
inline std::string run_inside(NetworkGuard& guard, const Sandbox& sandbox,
                              const std::function<std::string(Observer&)>& body) {
  std::array<int, 2> channel = {};
  std::array<int, 2> pipe = {};
  CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel.data()) == 0);
  CHECK(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const UniqueFd announcements(channel[0]);
  UniqueFd theirs(channel[1]);
  const UniqueFd result(pipe[0]);
  UniqueFd writer(pipe[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setns(sandbox.user.get(), CLONE_NEWUSER);  // fails if there is none of its own
    if (::setns(sandbox.network.get(), CLONE_NEWNET) != 0) ::_exit(1);
    // Nothing of the guard stays open here.
    const int low_channel = ::fcntl(theirs.get(), F_DUPFD, 230);
    const int low_writer = ::fcntl(writer.get(), F_DUPFD, 231);
    ::close_range(3, 229, 0);
    ::close_range(232, ~0U, 0);
    Observer observer(low_channel);
    const std::string text = body(observer);
    const bool written = ::write(low_writer, text.data(), text.size()) >= 0;
    ::_exit(written ? 0 : 1);
  }
  theirs.reset();
  writer.reset();
  std::string text;
  bool is_over = false;
  drive(
      guard,
      [&] {
        Announcement announcement;
        while (::recv(announcements.get(), &announcement, sizeof announcement, MSG_DONTWAIT) > 0) {
          const bool allowed =
              guard.prepare(announcement.address, announcement.port, announcement.protocol).allowed;
          ::send(announcements.get(), &allowed, sizeof allowed, MSG_NOSIGNAL);
        }
        pollfd ended = {result.get(), POLLIN, 0};
        if (::poll(&ended, 1, 0) == 0) return false;
        std::array<char, 4096> block;
        const ssize_t count = ::read(result.get(), block.data(), block.size());
        if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
        return is_over = count <= 0;
      },
      {announcements.get(), result.get()});
  if (!is_over) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!is_over) return "it did not end";
  return status == 0 ? text : "it ended with " + std::to_string(status) + " " + text;
}

}  // namespace hermetic::guard::testing
