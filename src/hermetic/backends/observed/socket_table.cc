#include "hermetic/backends/observed/socket_table.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "hermetic/base/unique_fd.h"

namespace hermetic::observed {
namespace {

std::string address_of(int family, const __be32* raw) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (::inet_ntop(family, raw, text.data(), text.size()) == nullptr) return "";
  std::string_view address = text.data();
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped) && address.find('.') != std::string_view::npos)
    address.remove_prefix(kMapped.size());
  return std::string(address);
}

SocketEntry entry_of(const inet_diag_msg& message, int protocol) {
  const int family = message.idiag_family;
  return {.inode = message.idiag_inode,
          .protocol = protocol == IPPROTO_TCP ? "tcp" : "udp",
          .family = family == AF_INET6 ? "inet6" : "inet",
          .listens = protocol == IPPROTO_TCP && message.idiag_state == TCP_LISTEN,
          .own_address = address_of(family, static_cast<const __be32*>(message.id.idiag_src)),
          .own_port = ntohs(message.id.idiag_sport),
          .peer_address = address_of(family, static_cast<const __be32*>(message.id.idiag_dst)),
          .peer_port = ntohs(message.id.idiag_dport)};
}

Result<void> ask(int socket, int family, int protocol) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question = {};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request.sdiag_family = static_cast<std::uint8_t>(family);
  question.request.sdiag_protocol = static_cast<std::uint8_t>(protocol);
  question.request.idiag_states = ~0U;
  if (::send(socket, &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question))
    return system_error("cannot ask for the table of sockets", errno);
  return {};
}

Result<void> hear(int socket, int protocol, std::vector<SocketEntry>& entries) {
  alignas(nlmsghdr) std::array<char, 32768> block;
  for (;;) {
    const ssize_t size = ::recv(socket, block.data(), block.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return system_error("cannot read the table of sockets", errno);
    std::size_t place = 0;
    while (place + sizeof(nlmsghdr) <= static_cast<std::size_t>(size)) {
      nlmsghdr header = {};
      std::memcpy(&header, block.data() + place, sizeof header);
      if (header.nlmsg_len < sizeof header ||
          place + header.nlmsg_len > static_cast<std::size_t>(size))
        break;
      const char* content = block.data() + place + NLMSG_HDRLEN;
      const std::size_t length = header.nlmsg_len - NLMSG_HDRLEN;
      if (header.nlmsg_type == NLMSG_DONE) return {};
      if (header.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr error = {};
        std::memcpy(&error, content, std::min(length, sizeof error));
        return system_error("the kernel does not list its sockets", -error.error);
      }
      if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && length >= sizeof(inet_diag_msg)) {
        inet_diag_msg message = {};
        std::memcpy(&message, content, sizeof message);
        entries.push_back(entry_of(message, protocol));
      }
      place += NLMSG_ALIGN(header.nlmsg_len);
    }
  }
}

}  // namespace

Result<std::vector<SocketEntry>> socket_table() {
  const UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket.is_open()) return system_error("cannot ask for the table of sockets", errno);
  std::vector<SocketEntry> entries;
  for (const int family : {AF_INET, AF_INET6})
    for (const int protocol : {IPPROTO_TCP, IPPROTO_UDP}) {
      TRY(ask(socket.get(), family, protocol));
      TRY(hear(socket.get(), protocol, entries));
    }
  return entries;
}

}  // namespace hermetic::observed
