#include "hermetic/guard/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace hermetic::guard {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::array<std::uint8_t, 12> kTranslated = {0, 0x64, 0xFF, 0x9B};  // 64:ff9b::/96

// fd68:6572:6d65:7469::/64, which is "hermeti".
constexpr std::array<std::uint8_t, 8> kSynthetic = {0xFD, 0x68, 0x65, 0x72, 0x6D, 0x65, 0x74, 0x69};

struct Network {
  std::uint32_t address;
  unsigned length;
  std::string_view kind;
};
constexpr std::uint32_t dotted(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24U | b << 16U | c << 8U | d;
}
// IANA's registry of special-purpose addresses, and where clouds keep their secrets.
constexpr std::array<Network, 14> kNotPublic = {{
    {dotted(0, 0, 0, 0), 8, "this network"},
    {dotted(10, 0, 0, 0), 8, "private"},
    {dotted(100, 64, 0, 0), 10, "shared"},
    {dotted(127, 0, 0, 0), 8, "loopback"},
    {dotted(168, 63, 129, 16), 32, "metadata"},
    {dotted(169, 254, 169, 254), 32, "metadata"},
    {dotted(169, 254, 0, 0), 16, "link-local"},
    {dotted(172, 16, 0, 0), 12, "private"},
    {dotted(192, 0, 0, 0), 24, "reserved"},
    {dotted(192, 88, 99, 0), 24, "reserved"},
    {dotted(192, 168, 0, 0), 16, "private"},
    {dotted(198, 18, 0, 0), 15, "synthetic"},
    {dotted(224, 0, 0, 0), 4, "multicast"},
    {dotted(240, 0, 0, 0), 4, "reserved"},
}};

std::uint32_t number_at(std::span<const std::uint8_t> bytes) {
  return dotted(bytes[0], bytes[1], bytes[2], bytes[3]);
}

std::string_view ipv4_kind(std::uint32_t number) {
  for (const Network& network : kNotPublic)
    if ((number ^ network.address) >> (32U - network.length) == 0) return network.kind;
  return "";
}

bool starts_with(const Address& address, std::span<const std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), address.begin());
}

std::string_view ipv6_kind(const Address& address) {
  constexpr Address kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (address == kLoopback) return "loopback";
  if (address[0] == 0xFF) return "multicast";
  if (address[0] == 0xFE && (address[1] & 0xC0U) == 0x80) return "link-local";
  if (starts_with(address, kSynthetic)) return "synthetic";
  if ((address[0] & 0xFEU) == 0xFC) return "private";
  if (starts_with(address, kTranslated)) return ipv4_kind(number_at(std::span(address).last(4)));
  if (address[0] == 0x20 && address[1] == 0x02)  // 6to4: the IPv4 address of a gateway
    return ipv4_kind(number_at(std::span(address).subspan(2, 4)));
  // Teredo and others, whose addresses stand for somewhere else.
  if (address[0] == 0x20 && address[1] == 0x01 && address[2] < 0x02) return "reserved";
  return (address[0] & 0xE0U) == 0x20 ? "" : "reserved";
}

}  // namespace

Address ipv4_address(std::uint32_t number) {
  Address address = {};
  std::copy(kMapped.begin(), kMapped.end(), address.begin());
  for (unsigned i = 0; i < 4; ++i)
    address[12 + i] = static_cast<std::uint8_t>(number >> (24U - 8U * i));
  return address;
}

Address synthetic_ipv4(std::uint32_t number) {
  return ipv4_address(dotted(198, 18, 0, 0) + number);
}

Address synthetic_ipv6(std::uint32_t number) {
  Address address = ipv4_address(number);  // for its last four bytes
  std::fill(address.begin(), address.begin() + 12, std::uint8_t{0});
  std::copy(kSynthetic.begin(), kSynthetic.end(), address.begin());
  return address;
}

bool is_synthetic(const Address& address) { return why_not_public(address) == "synthetic"; }

bool is_ipv4(const Address& address) { return starts_with(address, kMapped); }

std::optional<Address> parse_address(std::string_view text) {
  const std::string terminated(text);
  Address address = {};
  if (::inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
  in_addr dotted_form = {};
  if (::inet_pton(AF_INET, terminated.c_str(), &dotted_form) != 1) return {};
  return ipv4_address(ntohl(dotted_form.s_addr));
}

std::string address_text(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (is_ipv4(address))
    ::inet_ntop(AF_INET, address.data() + 12, text.data(), text.size());
  else
    ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  return text.data();
}

std::string endpoint_text(const Address& address, std::uint16_t port) {
  return is_ipv4(address) ? fmt::format("{}:{}", address_text(address), port)
                          : fmt::format("[{}]:{}", address_text(address), port);
}

Address as_destination(const Address& address) {
  if (address == ipv4_address(0)) return ipv4_address(dotted(127, 0, 0, 1));
  if (address != Address{}) return address;
  Address loopback = {};
  loopback.back() = 1;
  return loopback;
}

bool is_loopback(const Address& address) { return why_not_public(address) == "loopback"; }

std::string_view why_not_public(const Address& address) {
  return is_ipv4(address) ? ipv4_kind(number_at(std::span(address).last(4))) : ipv6_kind(address);
}

const sockaddr* SocketAddress::get() const {
  return reinterpret_cast<const sockaddr*>(&storage);  // what the socket interface is made of
}

std::optional<SocketAddress> socket_address(const Address& address, std::uint16_t port,
                                            int family) {
  SocketAddress result;
  if (family == AF_INET) {
    if (!is_ipv4(address)) return {};
    sockaddr_in form = {};
    form.sin_family = AF_INET;
    form.sin_port = htons(port);
    std::memcpy(&form.sin_addr, address.data() + 12, 4);
    std::memcpy(&result.storage, &form, sizeof form);
    result.size = sizeof form;
    return result;
  }
  sockaddr_in6 form = {};
  form.sin6_family = AF_INET6;
  form.sin6_port = htons(port);
  std::memcpy(&form.sin6_addr, address.data(), address.size());
  std::memcpy(&result.storage, &form, sizeof form);
  result.size = sizeof form;
  return result;
}

std::pair<Address, std::uint16_t> place_in(const sockaddr_storage& storage) {
  if (storage.ss_family == AF_INET) {
    sockaddr_in form = {};
    std::memcpy(&form, &storage, sizeof form);
    return {ipv4_address(ntohl(form.sin_addr.s_addr)), ntohs(form.sin_port)};
  }
  Address address = {};
  if (storage.ss_family != AF_INET6) return {address, 0};
  sockaddr_in6 form = {};
  std::memcpy(&form, &storage, sizeof form);
  std::memcpy(address.data(), &form.sin6_addr, address.size());
  return {address, ntohs(form.sin6_port)};
}

SocketAddress socket_address(const Address& address, std::uint16_t port) {
  return *socket_address(address, port, is_ipv4(address) ? AF_INET : AF_INET6);
}

}  // namespace hermetic::guard
