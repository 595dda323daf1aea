#include "hermetic/spec/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using Address = std::array<std::uint8_t, 16>;

constexpr unsigned kMappedBits = 96;  // ::ffff:0:0/96 holds the IPv4 addresses
constexpr unsigned kAddressBits = 128;
constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestName = 253;
constexpr Address kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr std::string_view kRuleHint =
    "write example.org, example.org:443, *.example.org, 10.0.0.0/8 or [::1]:8080";

Error bad_rule(std::string_view text, std::string_view why, std::string hint) {
  return invalid(fmt::format("host rule '{}' {}", printable(text.substr(0, 80)), why),
                 std::move(hint));
}

bool all_digits(std::string_view text) { return std::ranges::all_of(text, is_digit); }

// A decimal number without sign, spaces or leading zeros.
std::optional<unsigned> parse_number(std::string_view text, unsigned most) {
  if (text.empty() || !all_digits(text) || (text.size() > 1 && text.front() == '0')) return {};
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > most) return {};
  return value;
}

Result<std::optional<std::uint16_t>> parse_port(std::string_view rule, std::string_view port) {
  const std::optional<unsigned> number = parse_number(port, 65535);
  if (!number || *number == 0)
    return bad_rule(rule, fmt::format("has the bad port '{}'", printable(port.substr(0, 20))),
                    "write a port from 1 to 65535, or none to allow every port");
  return std::optional<std::uint16_t>(static_cast<std::uint16_t>(*number));
}

bool is_ipv4(const Address& address, unsigned prefix_length) {
  return prefix_length >= kMappedBits &&
         std::equal(kMappedPrefix.begin(), kMappedPrefix.begin() + 12, address.begin());
}

// The address in its mapped form and the bits that its own family counts on top of the prefix.
struct Literal {
  Address address = {};
  unsigned offset = 0;  // 96 for dotted IPv4, where /8 means /104
};

std::optional<Literal> parse_literal(std::string_view text) {
  const std::string copy(text);  // inet_pton wants a closing NUL
  Literal literal;
  if (::inet_pton(AF_INET6, copy.c_str(), literal.address.data()) == 1) return literal;
  literal.address = kMappedPrefix;
  literal.offset = kMappedBits;
  if (::inet_pton(AF_INET, copy.c_str(), literal.address.data() + 12) == 1) return literal;
  return {};
}

Address masked(Address address, unsigned prefix_length) {
  for (unsigned bit = prefix_length; bit < kAddressBits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
    address[bit / 8] &= static_cast<std::uint8_t>(~mask);
  }
  return address;
}

std::string address_text(const Address& address, bool ipv4) {
  std::array<char, INET6_ADDRSTRLEN> buffer = {};
  if (ipv4)
    ::inet_ntop(AF_INET, address.data() + 12, buffer.data(), buffer.size());
  else
    ::inet_ntop(AF_INET6, address.data(), buffer.data(), buffer.size());
  return buffer.data();
}

// `length` is the text after '/', if there was one.
Result<HostRule> make_range(std::string_view text, const Literal& literal,
                            std::optional<std::string_view> length) {
  HostRule rule{.kind = HostRule::Kind::Range,
                .name = {},
                .address = literal.address,
                .prefix_length = kAddressBits,
                .port = {}};
  if (!length) return rule;
  const unsigned most = kAddressBits - literal.offset;
  const std::optional<unsigned> bits = parse_number(*length, most);
  if (!bits)
    return bad_rule(text, "has a bad prefix length",
                    fmt::format("write a whole number from 0 to {} after the '/'", most));
  rule.prefix_length = *bits + literal.offset;
  rule.address = masked(literal.address, rule.prefix_length);
  if (rule.address != literal.address)
    return bad_rule(text, "has bits set beyond its prefix length",
                    fmt::format("write {} for the network, or leave '/{}' out for the one address",
                                to_string(rule), *length));
  return rule;
}

// "2001:db8::", "2001:db8::/32", "10.0.0.0/8"; nothing for text that is no address at all.
std::optional<Result<HostRule>> parse_range(std::string_view text, std::string_view part) {
  const std::size_t slash = part.find('/');
  const std::optional<Literal> literal = parse_literal(part.substr(0, slash));
  if (!literal) return {};
  std::optional<std::string_view> length;
  if (slash != std::string_view::npos) length = part.substr(slash + 1);
  return make_range(text, *literal, length);
}

// What resolvers of many systems read as an IPv4 address (127.1, 0x7f.1, 010.0.0.1), each in its
// own way: such a name would allow another address than the one that was meant.
bool ends_in_number(std::string_view name) {
  std::string_view label = name.substr(name.rfind('.') + 1);
  if (all_digits(label)) return true;
  if (!label.starts_with("0x")) return false;
  label.remove_prefix(2);
  return std::ranges::all_of(label, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// Why `label` cannot be part of a name, or "".
std::string_view label_fault(std::string_view label) {
  if (label.empty()) return "has an empty label";
  if (label.size() > kLongestLabel) return "has a label of more than 63 characters";
  if (label.front() == '-' || label.back() == '-')
    return "has a label that starts or ends with '-'";
  const bool plain = std::ranges::all_of(
      label, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_'; });
  return plain ? "" : "has a character that no host name has";
}

Result<std::string> parse_name(std::string_view text, std::string_view part) {
  std::string name(part);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (name.size() > 1 && name.ends_with('.')) name.pop_back();
  if (name.empty()) return bad_rule(text, "names no host", std::string(kRuleHint));
  if (name.size() > kLongestName)
    return bad_rule(text, "is longer than 253 characters", std::string(kRuleHint));
  if (std::ranges::any_of(name, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return bad_rule(text, "is not ASCII",
                    "write the name in punycode, such as xn--bcher-kva.example");
  if (name.find('*') != std::string::npos)
    return bad_rule(text, "has a '*' that does not stand for all names below a domain",
                    "a wildcard is written *.example.org; `network: host` allows everything");
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string_view fault = label_fault(std::string_view(name).substr(begin, end - begin));
    if (!fault.empty()) return bad_rule(text, fault, std::string(kRuleHint));
    begin = end + 1;
  }
  if (ends_in_number(name))
    return bad_rule(text, "looks like an IPv4 address but is none",
                    "write four decimal numbers without leading zeros, such as 10.0.0.1");
  return name;
}

// "[address]", "[address]/32" and "[address/32]", each with or without ":port".
Result<HostRule> parse_bracketed(std::string_view text) {
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos)
    return bad_rule(text, "has a '[' without ']'", std::string(kRuleHint));
  std::string part(text.substr(1, close - 1));
  std::string_view rest = text.substr(close + 1);
  if (rest.starts_with('/')) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    part += rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (part.find(':') == std::string::npos)
    return bad_rule(text, "has brackets around what is no IPv6 address",
                    "brackets are for IPv6 addresses only, such as [::1]:8080");
  std::optional<Result<HostRule>> range = parse_range(text, part);
  if (!range) return bad_rule(text, "is no IPv6 address", std::string(kRuleHint));
  HostRule rule = TRY(*std::move(range));
  if (rest.empty()) return rule;
  if (rest.front() != ':') return bad_rule(text, "has text after ']'", std::string(kRuleHint));
  rule.port = TRY(parse_port(text, rest.substr(1)));
  return rule;
}

// Everything without brackets and with one colon at most.
Result<HostRule> parse_plain(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view part = text.substr(0, colon);
  std::optional<std::uint16_t> port;
  if (colon != std::string_view::npos) port = TRY(parse_port(text, text.substr(colon + 1)));
  if (std::optional<Result<HostRule>> range = parse_range(text, part)) {
    HostRule rule = TRY(*std::move(range));
    rule.port = port;
    return rule;
  }
  if (part.find('/') != std::string_view::npos)
    return bad_rule(text, "has a '/' but is no range of addresses",
                    "write the host alone, or an address and a prefix length such as 10.0.0.0/8");
  HostRule rule;
  rule.port = port;
  if (part.starts_with("*.")) rule.kind = HostRule::Kind::Wildcard;
  const std::size_t skipped = rule.kind == HostRule::Kind::Wildcard ? 2 : 0;
  rule.name = TRY(parse_name(text, part.substr(skipped)));
  return rule;
}

bool is_below(std::string_view name, std::string_view domain) {
  return name.size() > domain.size() && name.ends_with(domain) &&
         name[name.size() - domain.size() - 1] == '.';
}

bool covers_name(const HostRule& outer, const HostRule& inner) {
  if (outer.kind == HostRule::Kind::Name)
    return inner.kind == HostRule::Kind::Name && inner.name == outer.name;
  if (outer.name.empty()) return true;  // every name there is
  if (inner.kind == HostRule::Kind::Wildcard && inner.name == outer.name) return true;
  return is_below(inner.name, outer.name);
}

// The families are kept apart: "::/0" is every IPv6 address and no IPv4 address, as people expect,
// although the mapped form of an IPv4 address starts with no bits at all too.
bool covers_range(const HostRule& outer, const HostRule& inner) {
  return outer.prefix_length <= inner.prefix_length &&
         is_ipv4(outer.address, outer.prefix_length) ==
             is_ipv4(inner.address, inner.prefix_length) &&
         masked(inner.address, outer.prefix_length) == masked(outer.address, outer.prefix_length);
}

bool is_loopback(const HostRule& destination) {
  if (destination.kind == HostRule::Kind::Name)
    return destination.name == "localhost" || is_below(destination.name, "localhost");
  if (is_ipv4(destination.address, destination.prefix_length))
    return destination.address[12] == 127;
  constexpr Address kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return destination.address == kLoopback;
}

}  // namespace

Result<HostRule> parse_host_rule(std::string_view text) {
  if (text.empty()) return invalid("empty host rule", std::string(kRuleHint));
  if (std::ranges::any_of(text, [](char c) { return c == ' ' || c == '\0' || c == '\t'; }))
    return bad_rule(text, "contains a space or a control character", std::string(kRuleHint));
  if (text.find("://") != std::string_view::npos)
    return bad_rule(text, "is a URL", "write the host alone, such as example.org:443");
  if (text.front() == '[') return parse_bracketed(text);
  if (std::ranges::count(text, ':') < 2) return parse_plain(text);
  if (std::optional<Result<HostRule>> range = parse_range(text, text)) return *std::move(range);
  return bad_rule(text, "is no IPv6 address",
                  "write an IPv6 address with a port in brackets, such as [::1]:8080");
}

std::string to_string(const HostRule& rule) {
  std::string text;
  if (rule.kind == HostRule::Kind::Range) {
    const bool ipv4 = is_ipv4(rule.address, rule.prefix_length);
    text = address_text(rule.address, ipv4);
    if (!ipv4 && rule.port) text = '[' + text + ']';  // or the port would be part of the address
    if (rule.prefix_length < kAddressBits)
      text += fmt::format("/{}", rule.prefix_length - (ipv4 ? kMappedBits : 0));
  } else {
    text = (rule.kind == HostRule::Kind::Wildcard ? "*." : "") + rule.name;
    if (rule.kind == HostRule::Kind::Wildcard && rule.name.empty()) text = "*";
  }
  if (rule.port) text += fmt::format(":{}", *rule.port);
  return text;
}

std::array<HostRule, 3> every_host(std::optional<std::uint16_t> port) {
  HostRule names{.kind = HostRule::Kind::Wildcard, .name = {}, .address = {}, .port = port};
  HostRule ipv4{.kind = HostRule::Kind::Range,
                .name = {},
                .address = kMappedPrefix,
                .prefix_length = kMappedBits,
                .port = port};
  HostRule ipv6{.kind = HostRule::Kind::Range, .name = {}, .address = {}, .port = port};
  return {std::move(names), std::move(ipv4), std::move(ipv6)};
}

bool covers(const HostRule& outer, const HostRule& inner) {
  if (outer.port && outer.port != inner.port) return false;
  const bool outer_range = outer.kind == HostRule::Kind::Range;
  if (outer_range != (inner.kind == HostRule::Kind::Range)) return false;
  return outer_range ? covers_range(outer, inner) : covers_name(outer, inner);
}

Result<NetworkPolicy> NetworkPolicy::allow_hosts(const std::vector<std::string>& rules) {
  if (rules.empty()) return invalid("empty list of allowed hosts", "write `none` for no network");
  NetworkPolicy policy{.mode = Mode::Hosts, .hosts = {}};
  for (const std::string& text : rules) {
    if (text == "loopback") continue;  // the sandbox's own, which comes with any list
    HostRule rule = TRY(parse_host_rule(text));
    policy.hosts.push_back(std::move(rule));
  }
  if (policy.hosts.empty()) policy.mode = Mode::Loopback;
  std::sort(policy.hosts.begin(), policy.hosts.end());
  policy.hosts.erase(std::unique(policy.hosts.begin(), policy.hosts.end()), policy.hosts.end());
  return policy;
}

bool NetworkPolicy::can_reach(std::string_view host, std::uint16_t port) const {
  if (mode == Mode::None) return false;
  if (mode == Mode::Host) return true;
  Result<HostRule> destination = parse_host_rule(host);
  // One destination only: no wildcard, no range and no port of its own.
  if (!destination || destination->kind == HostRule::Kind::Wildcard || destination->port ||
      host.find('/') != std::string_view::npos)
    return false;
  if (mode == Mode::Loopback) return is_loopback(*destination);
  destination->port = port;
  return std::ranges::any_of(hosts,
                             [&](const HostRule& rule) { return covers(rule, *destination); });
}

std::string_view to_string(NetworkPolicy::Mode mode) {
  switch (mode) {
    case NetworkPolicy::Mode::None: return "none";
    case NetworkPolicy::Mode::Loopback: return "loopback";
    case NetworkPolicy::Mode::Hosts: return "hosts";
    case NetworkPolicy::Mode::Host: return "host";
  }
  return "";
}

}  // namespace hermetic
