// Which rule of a policy lets a command reach a name or an address, if any does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/guard/address.h"
#include "hermetic/spec/network.h"

namespace hermetic::guard {

// `name` is in lower case. Without a port: on any port at all. Of several rules the first.
[[nodiscard]] const HostRule* rule_for_name(const NetworkPolicy& policy, std::string_view name,
                                            std::optional<std::uint16_t> port);

// By a range. A synthetic address is never allowed as itself. Loopback is the sandbox's own unless
// a range that lies within loopback says otherwise: 0.0.0.0/0 does not mean the host's services.
[[nodiscard]] const HostRule* rule_for_address(const NetworkPolicy& policy, const Address& address,
                                               std::optional<std::uint16_t> port);

// Where a connection to a name may really go: public addresses, and others that a range names. This
// is what keeps an allowed name from being pointed at the host's own network (DNS rebinding).
struct UsableAddresses {
  std::vector<Address> usable;
  std::string refused;  // "10.0.0.1 is private": the first that is not usable, or ""
  std::optional<Address> refused_address = {};
};
[[nodiscard]] UsableAddresses usable_addresses(const NetworkPolicy& policy,
                                               const std::vector<Address>& addresses,
                                               std::optional<std::uint16_t> port);

}  // namespace hermetic::guard
