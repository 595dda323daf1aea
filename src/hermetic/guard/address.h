// Address: an IPv4 or IPv6 address as a value, and what kind of network it belongs to.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hermetic {

// IPv4 is held as IPv4-mapped IPv6, as in a HostRule.
using Address = std::array<std::uint8_t, 16>;

namespace guard {

[[nodiscard]] Address ipv4_address(std::uint32_t number);

// Addresses that stand for names: of 198.18.0.0/15, set aside for tests of networks (RFC 2544), and
// of a unique local network (RFC 4193) whose number nobody else has drawn.
[[nodiscard]] Address synthetic_ipv4(std::uint32_t number);
[[nodiscard]] Address synthetic_ipv6(std::uint32_t number);
[[nodiscard]] bool is_synthetic(const Address& address);

[[nodiscard]] bool is_ipv4(const Address& address);
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);  // no brackets, no scope
[[nodiscard]] std::string address_text(const Address& address);
// "192.0.2.1:80", "[2001:db8::1]:80"
[[nodiscard]] std::string endpoint_text(const Address& address, std::uint16_t port);

// What 0.0.0.0 and :: mean to connect(2): this host.
[[nodiscard]] Address as_destination(const Address& address);
[[nodiscard]] bool is_loopback(const Address& address);

// "private", "loopback", "link-local"…: why a name from outside must not lead here, or "" for an
// address of the public internet. An IPv4 address inside an IPv6 one counts as itself. Addresses
// that are set aside for documentation count as public: nobody has them.
[[nodiscard]] std::string_view why_not_public(const Address& address);

// As bind(2) and connect(2) want it.
struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const;
};
// `family` is that of the socket. Nothing if it is AF_INET and the address is none.
[[nodiscard]] std::optional<SocketAddress> socket_address(const Address& address,
                                                          std::uint16_t port, int family);
// The address and the port in what the kernel has filled in; nothing but zeros of another family.
[[nodiscard]] std::pair<Address, std::uint16_t> place_in(const sockaddr_storage& storage);
// AF_INET for IPv4 and AF_INET6 for the rest.
[[nodiscard]] SocketAddress socket_address(const Address& address, std::uint16_t port);

}  // namespace guard
}  // namespace hermetic
