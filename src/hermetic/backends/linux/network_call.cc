#include "hermetic/backends/linux/network_call.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kPayloadBytes = 512;  // a question to a name server is shorter
constexpr Address kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::size_t kMappedBytes = 12;

// As much of the other's memory as can be read.
std::size_t read_memory(pid_t process, std::uint64_t address, void* here, std::size_t size) {
  iovec local = {.iov_base = here, .iov_len = size};
  void* const base = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  iovec remote = {.iov_base = base, .iov_len = size};
  const ssize_t got = ::process_vm_readv(process, &local, 1, &remote, 1, 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

template <class Value>
std::optional<Value> read_value(pid_t process, std::uint64_t address) {
  Value value = {};
  if (address == 0 || read_memory(process, address, &value, sizeof value) != sizeof value)
    return std::nullopt;
  return value;
}

void read_address(pid_t process, std::uint64_t place, std::uint64_t size, NetworkCall& call) {
  if (place == 0 || size < sizeof(sa_family_t)) return;
  sockaddr_storage raw = {};
  const std::size_t got = std::min(size, sizeof raw);
  errno = EFAULT;  // what the rest of it is, if only some can be read
  if (read_memory(process, place, &raw, got) != got) {
    call.unreadable = errno;
    return;
  }
  SocketAddress found{.family = raw.ss_family};
  // Without a family it is one of IPv4 to a datagram socket.
  const bool short_form = raw.ss_family == AF_INET || raw.ss_family == AF_UNSPEC;
  if (short_form && got >= sizeof(sockaddr_in)) {
    sockaddr_in inet = {};
    std::memcpy(&inet, &raw, sizeof inet);
    found.address = kMapped;
    std::memcpy(found.address.data() + kMappedBytes, &inet.sin_addr, sizeof inet.sin_addr);
    found.port = ntohs(inet.sin_port);
  } else if (raw.ss_family == AF_INET6 && got >= sizeof(sockaddr_in6) - sizeof(std::uint32_t)) {
    sockaddr_in6 inet = {};
    std::memcpy(&inet, &raw, sizeof inet);
    std::memcpy(found.address.data(), &inet.sin6_addr, sizeof inet.sin6_addr);
    found.port = ntohs(inet.sin6_port);
  } else if (raw.ss_family == AF_UNIX) {
    const auto* text = reinterpret_cast<const char*>(&raw) + sizeof(sa_family_t);
    found.path.assign(text, ::strnlen(text, got - sizeof(sa_family_t)));
  }
  call.address = found;
}

std::string read_payload(pid_t process, std::uint64_t place, std::uint64_t size) {
  std::string text(std::min<std::uint64_t>(size, kPayloadBytes), '\0');
  if (place == 0 || text.empty()) return "";
  text.resize(read_memory(process, place, text.data(), text.size()));
  return text;
}

void read_message(pid_t process, std::uint64_t place, NetworkCall& call) {
  errno = EFAULT;
  const std::optional<msghdr> header = read_value<msghdr>(process, place);
  if (!header) {
    call.unreadable = errno;
    return;
  }
  read_address(process, reinterpret_cast<std::uint64_t>(header->msg_name), header->msg_namelen,
               call);
  if (header->msg_iovlen == 0) return;
  const std::optional<iovec> first =
      read_value<iovec>(process, reinterpret_cast<std::uint64_t>(header->msg_iov));
  if (first)
    call.payload =
        read_payload(process, reinterpret_cast<std::uint64_t>(first->iov_base), first->iov_len);
}

std::vector<NetworkCall> read_messages(pid_t process, std::uint64_t place, std::uint64_t count,
                                       const NetworkCall& call) {
  constexpr std::uint64_t kMostMessages = 1024;  // the kernel takes no more at once
  std::vector<NetworkCall> calls;
  for (std::uint64_t i = 0; i < std::min(count, kMostMessages); ++i) {
    calls.push_back(call);
    read_message(process, place + i * sizeof(mmsghdr), calls.back());
  }
  return calls;
}

}  // namespace

bool SocketAddress::is_internet() const { return family == AF_INET || family == AF_INET6; }

bool SocketAddress::is_loopback() const {
  return guard::is_loopback(guard::as_destination(address));
}

std::vector<NetworkCall> read_network_calls(const seccomp_notif& question) {
  using Kind = NetworkCall::Kind;
  const auto process = static_cast<pid_t>(question.pid);
  const auto& arguments = question.data.args;
  const auto number = [&](std::size_t index) { return static_cast<int>(arguments[index]); };
  NetworkCall call;
  const auto named = [&](Kind kind, const char* name) {
    call.kind = kind;
    call.name = name;
    if (kind != Kind::Socket && kind != Kind::Ring) call.descriptor = number(0);
  };
  switch (question.data.nr) {
    case SYS_socket:
      named(Kind::Socket, "socket");
      call.family = number(0);
      call.type = number(1);
      call.protocol = number(2);
      return {call};
    case SYS_connect:
      named(Kind::Connect, "connect");
      read_address(process, arguments[1], arguments[2] & 0xFFFFFFFFU, call);
      return {call};
    case SYS_bind:
      named(Kind::Bind, "bind");
      read_address(process, arguments[1], arguments[2] & 0xFFFFFFFFU, call);
      return {call};
    case SYS_listen: named(Kind::Listen, "listen"); return {call};
#ifdef SYS_accept
    case SYS_accept:
#endif
    case SYS_accept4: named(Kind::Accept, "accept"); return {call};
    case SYS_sendto:
      named(Kind::Send, "sendto");
      read_address(process, arguments[4], arguments[5] & 0xFFFFFFFFU, call);
      call.payload = read_payload(process, arguments[1], arguments[2]);
      return {call};
    case SYS_sendmsg:
      named(Kind::Send, "sendmsg");
      read_message(process, arguments[1], call);
      return {call};
    case SYS_sendmmsg:
      named(Kind::Send, "sendmmsg");
      return read_messages(process, arguments[1], arguments[2] & 0xFFFFFFFFU, call);
    case SYS_io_uring_setup: named(Kind::Ring, "io_uring_setup"); return {call};
    default: return {};
  }
}

std::string family_name(int family) {
  switch (family) {
    case AF_UNIX: return "unix";
    case AF_INET: return "inet";
    case AF_INET6: return "inet6";
    case AF_NETLINK: return "netlink";
    case AF_PACKET: return "packet";
    case AF_VSOCK: return "vsock";
    case AF_BLUETOOTH: return "bluetooth";
    case AF_ALG: return "alg";
    default: return std::to_string(family);
  }
}

// RFC 1035: twelve bytes, then the labels of the first question, each with its length before it.
std::string name_asked_for(const std::string& payload) {
  constexpr std::size_t kHeader = 12;
  constexpr std::size_t kLongestLabel = 63;
  const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(payload[place]); };
  if (payload.size() <= kHeader || (byte(2) & 0x80U) != 0 || byte(4) != 0 || byte(5) == 0)
    return "";
  std::string name;
  std::size_t place = kHeader;
  while (place < payload.size() && byte(place) != 0) {
    const std::size_t length = byte(place);
    if (length > kLongestLabel || place + length >= payload.size()) return "";
    if (!name.empty()) name += '.';
    name += payload.substr(place + 1, length);
    place += length + 1;
  }
  return place < payload.size() ? name : "";
}

}  // namespace hermetic::linux_backend
