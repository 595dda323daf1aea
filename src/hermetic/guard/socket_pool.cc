#include "hermetic/guard/socket_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "hermetic/guard/socket_passing.h"

namespace hermetic::guard {
namespace {

constexpr int kBacklog = 512;
constexpr std::size_t kMostSockets = 4096;  // of a run; the guard looks at all of them in each turn

void set_option(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof on);
}

int family_of(int fd) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof family;
  ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

}  // namespace

bool SocketPool::takes_ipv6() const {
  return !sockets_.empty() && family_of(sockets_.back().get()) == AF_INET6;
}

// While there is one to make them like.
void SocketPool::grow() {
  if (sockets_.size() != 1 || given_ >= kMostSockets) return;
  std::vector<UniqueFd> more = make_more_sockets(sockets_.back().get());
  given_ += more.size();
  for (UniqueFd& socket : more) sockets_.push_back(std::move(socket));
}

Result<UniqueFd> SocketPool::bind(const Address& address, std::uint16_t port, bool listening) {
  const std::string doing = "cannot open " + endpoint_text(address, port) + " inside the sandbox";
  if (sockets_.empty())
    return unsupported(
        fmt::format("all {} sockets that a run has for allowed destinations are in use", given_),
        "fewer destinations in one run, or more open files for hermetic (ulimit -n): each address "
        "and port takes a socket for good");
  grow();
  const int fd = sockets_.back().get();
  const int family = family_of(fd);
  const std::optional<SocketAddress> form = socket_address(address, port, family);
  if (!form) return system_error(doing, EAFNOSUPPORT);
  // A route makes every IPv4 address local for bind(2); of IPv6 it wants to be told.
  if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_FREEBIND);
  if (listening) set_option(fd, SOL_SOCKET, SO_REUSEADDR);
  if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
      ::bind(fd, form->get(), form->size) != 0)
    return system_error(doing, errno);
  UniqueFd socket = std::move(sockets_.back());
  sockets_.pop_back();
  if (listening && ::listen(fd, kBacklog) != 0) return system_error(doing, errno);
  return socket;
}

}  // namespace hermetic::guard
