// What a command inside the sandbox does: asks names, connects, sends.
#pragma once

#include <sys/time.h>

#include <string>
#include <vector>

#include "tests/unit/guard/network_world.h"

namespace hermetic::guard::testing {

// Fails a body with the place and the cause.
#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition))                                                                \
      return std::string(#condition " at line ") + std::to_string(__LINE__) + ": " + \
             std::strerror(errno);                                                   \
  } while (false)

inline UniqueFd client_socket(int type, int family = AF_INET) {
  UniqueFd fd(::socket(family, type | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return fd;
}

// 0 or errno, of a blocking connect() that was announced.
inline int connect_to(Observer& observer, int fd, std::string_view address, std::uint16_t port,
                      Protocol protocol = Protocol::Tcp, int family = AF_INET) {
  observer.announce(address, port, protocol);
  const auto form = socket_address(*parse_address(address), port, family);
  return ::connect(fd, form->get(), form->size) == 0 ? 0 : errno;
}

inline std::string receive(int fd, std::size_t size) {
  std::string text(size, '\0');
  std::size_t had = 0;
  while (had < size) {
    const ssize_t count = ::recv(fd, text.data() + had, size - had, 0);
    if (count <= 0) break;
    had += static_cast<std::size_t>(count);
  }
  text.resize(had);
  return text;
}

inline bool echoes(int fd, const std::string& text) {
  return send_all(fd, text.data(), text.size()) && receive(fd, text.size()) == text;
}

inline DnsMessage question_for(const std::string& name, std::uint16_t type = kTypeA) {
  DnsMessage query;
  query.id = 0x4711;
  query.recursion_desired = true;
  query.questions.push_back({.name = name, .type = type});
  return query;
}

inline std::optional<Bytes> ask_by_datagram(const Bytes& query, const char* server = "127.0.0.1") {
  const Address address = *parse_address(server);
  const UniqueFd fd = client_socket(SOCK_DGRAM, is_ipv4(address) ? AF_INET : AF_INET6);
  const SocketAddress form = socket_address(address, 53);
  Bytes reply(4096);
  if (::connect(fd.get(), form.get(), form.size) != 0 ||
      ::send(fd.get(), query.data(), query.size(), 0) < 0)
    return {};
  const ssize_t count = ::recv(fd.get(), reply.data(), reply.size(), 0);
  if (count < 0) return {};
  reply.resize(static_cast<std::size_t>(count));
  return reply;
}

struct Resolved {
  int code = -1;
  std::string address;  // the first one
};

inline Resolved resolved_from(const std::optional<Bytes>& bytes, const DnsMessage& query) {
  const std::optional<DnsMessage> reply = bytes ? parse_dns_message(*bytes) : std::nullopt;
  Resolved result;
  if (!reply || reply->id != query.id || reply->questions != query.questions) return result;
  result.code = static_cast<int>(reply->code);
  if (!reply->answers.empty() && reply->answers[0].data.size() == 4) {
    std::uint32_t number = 0;
    for (const std::uint8_t byte : reply->answers[0].data) number = number << 8U | byte;
    result.address = address_text(ipv4_address(number));
  }
  Address address = {};
  if (!reply->answers.empty() && reply->answers[0].data.size() == address.size()) {
    std::copy_n(reply->answers[0].data.begin(), address.size(), address.begin());
    result.address = address_text(address);
  }
  return result;
}

inline Resolved resolve(const std::string& name, std::uint16_t type = kTypeA,
                        const char* server = "127.0.0.1") {
  const DnsMessage query = question_for(name, type);
  return resolved_from(ask_by_datagram(build_dns_message(query), server), query);
}

// "" if `name` answers on `port` with an echo.
inline std::string reach(Observer& observer, const std::string& name, std::uint16_t port = kEcho) {
  const Resolved resolved = resolve(name);
  if (resolved.address.empty()) return name + " has code " + std::to_string(resolved.code);
  const UniqueFd fd = client_socket(SOCK_STREAM);
  if (const int error = connect_to(observer, fd.get(), resolved.address, port); error != 0)
    return std::string("connect: ") + std::strerror(error);
  return echoes(fd.get(), "ping") ? "" : std::string("no echo: ") + std::strerror(errno);
}

}  // namespace hermetic::guard::testing
