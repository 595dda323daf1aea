// An exception as it is written into a policy, in the words of the policy's version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hermetic/gate/judge.h"
#include "hermetic/gate/policy.h"

namespace hermetic::gate {

// By a port: what a name server is asked for is an act of its own, "resolve". Where a list of hosts
// is in force, the guard is every name server.
[[nodiscard]] bool asks_name_server(const NetworkAct& act);

// "example.org:443", "[2001:db8::1]:80", or the host alone if the port is not known.
[[nodiscard]] std::string host_and_port(const NetworkAct& act);

// An item of a list: "{host: …, owner: TODO, …}" of `exceptions` in version 2, and of
// `outbound_hosts` or `listen_ports` in version 1. Owner, reason and end are for people to fill in:
// as it is, no policy of version 2 with it is accepted.
[[nodiscard]] std::string exception_item(int version, const std::string& host,
                                         std::optional<std::uint16_t> listen);

// What would allow the act, with the key that it belongs below; "" if nothing would.
[[nodiscard]] std::string exception_for(const Policy& policy, const NetworkAct& act);

}  // namespace hermetic::gate
