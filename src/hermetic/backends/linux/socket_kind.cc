#include "hermetic/backends/linux/socket_kind.h"

#include <netinet/in.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace hermetic::linux_backend {
namespace {

struct Named {
  std::string_view name;
  SocketKind kind;
};

// As /proc/net/protocols has them. Others, such as RAW, do not say which protocol it is.
constexpr std::array kNamed = {
    Named{"TCP", {true, IPPROTO_TCP}},   Named{"TCPv6", {true, IPPROTO_TCP}},
    Named{"UDP", {true, IPPROTO_UDP}},   Named{"UDPv6", {true, IPPROTO_UDP}},
    Named{"PING", {true, IPPROTO_ICMP}}, Named{"PINGv6", {true, IPPROTO_ICMPV6}},
    Named{"UNIX", {false, 0}},           Named{"UNIX-STREAM", {false, 0}},
    Named{"NETLINK", {false, 0}},
};

}  // namespace

std::optional<SocketKind> socket_kind(pid_t thread, int descriptor) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/fd/%d", thread, descriptor);
  // The name is given when the socket is made and never changes, socket(7) knows it not: the file
  // system of sockets shows it as an attribute.
  std::array<char, 64> text;
  const ssize_t size = ::getxattr(path.data(), "system.sockprotoname", text.data(), text.size());
  if (size <= 0) return std::nullopt;
  const std::string_view all(text.data(), static_cast<std::size_t>(size));
  const std::string_view name = all.substr(0, all.find('\0'));
  const auto* const found = std::find_if(kNamed.begin(), kNamed.end(),
                                         [&](const Named& one) { return one.name == name; });
  if (found == kNamed.end()) return std::nullopt;
  return found->kind;
}

}  // namespace hermetic::linux_backend
