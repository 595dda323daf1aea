// NetworkPolicy: what a command may reach (N).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

// One allowed destination: a name, a wildcard for the names below a domain, or a range of
// addresses; on one port or on all.
struct HostRule {
  enum class Kind { Name, Wildcard, Range };

  Kind kind = Kind::Name;
  std::string name;  // lower case; without "*." for a wildcard; "" in one for every name
  std::array<std::uint8_t, 16> address = {};  // of a Range; IPv4 is held as IPv4-mapped IPv6
  unsigned prefix_length = 0;                 // of a Range, 0 to 128, counted in the mapped form
  std::optional<std::uint16_t> port;

  friend auto operator<=>(const HostRule&, const HostRule&) = default;
};

// "example.org", "example.org:443", "*.example.org", "10.0.0.0/8", "[2001:db8::]/32", "[::1]:8080".
[[nodiscard]] Result<HostRule> parse_host_rule(std::string_view text);
[[nodiscard]] std::string to_string(const HostRule& rule);

// What every name and every address is allowed by, on one port or on all. No spec can write the one
// for names: whoever means it says `network: host`, or has a policy of ports alone.
[[nodiscard]] std::array<HostRule, 3> every_host(std::optional<std::uint16_t> port);

// True if every destination that `inner` allows is allowed by `outer`.
[[nodiscard]] bool covers(const HostRule& outer, const HostRule& inner);

struct NetworkPolicy {
  enum class Mode {
    None,      // no interface that is up
    Loopback,  // the sandbox's own 127.0.0.1 and ::1, nothing beyond
    Hosts,     // the rules in `hosts` and nothing else
    Host,      // the caller's network, unrestricted: not hermetic
  };

  Mode mode = Mode::None;
  std::vector<HostRule> hosts;  // sorted, without duplicates; empty unless mode is Hosts

  static NetworkPolicy hermetic() { return {}; }
  static Result<NetworkPolicy> allow_hosts(const std::vector<std::string>& rules);

  // May the command reach this name or address literal? A name is never looked up: a range allows
  // an address, not a name that happens to resolve into it.
  [[nodiscard]] bool can_reach(std::string_view host, std::uint16_t port) const;

  friend bool operator==(const NetworkPolicy&, const NetworkPolicy&) = default;
};

[[nodiscard]] std::string_view to_string(
    NetworkPolicy::Mode mode);  // "none", "loopback", "hosts", "host"

}  // namespace hermetic
