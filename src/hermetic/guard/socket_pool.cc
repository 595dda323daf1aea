#include "hermetic/guard/socket_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
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

int number_of(int fd, int option) {
  int number = 0;
  socklen_t size = sizeof number;
  ::getsockopt(fd, SOL_SOCKET, option, &number, &size);
  return number;
}

int family_of(int fd) { return number_of(fd, SO_DOMAIN); }

}  // namespace

bool SocketPool::takes_ipv6() const {
  return !sockets_.empty() && family_of(sockets_.back().get()) == AF_INET6;
}

// By the namespace of the sockets themselves: the processes inside may end at any time, and their
// numbers may become others'. It is kept, for what fails now (the command may have taken all
// processes that the user may have) works when the next one is needed.
void SocketPool::grow() {
  if (sockets_.size() > 1 || given_ >= kMostSockets) return;
  if (!network_.is_open() && !sockets_.empty()) {
    network_ = UniqueFd(::ioctl(sockets_.back().get(), SIOCGSKNS));
    type_ = number_of(sockets_.back().get(), SO_TYPE);
  }
  if (!network_.is_open()) return;
  std::vector<UniqueFd> more = make_more_sockets(network_.get(), type_);
  given_ += more.size();
  for (UniqueFd& socket : more) sockets_.push_back(std::move(socket));
}

Result<UniqueFd> SocketPool::bind(const Address& address, std::uint16_t port, bool listening) {
  const std::string doing = "cannot open " + endpoint_text(address, port) + " inside the sandbox";
  grow();
  if (sockets_.empty())
    return unsupported(
        fmt::format("all {} sockets that a run has for allowed destinations are in use", given_),
        "fewer destinations in one run, or more open files for hermetic (ulimit -n): each address "
        "and port takes a socket for good");
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
