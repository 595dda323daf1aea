// Target: an allowed destination, and how events name it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/guard/address.h"
#include "hermetic/guard/name_lookup.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/network.h"

namespace hermetic::guard {

enum class Protocol { Tcp, Udp };

struct Target {
  std::string name;      // or "": the address itself is meant
  Address address = {};  // inside the sandbox; outside too, unless there is a name
  std::uint16_t port = 0;
  Protocol protocol = Protocol::Tcp;
  std::string rule;  // what allows it
};

[[nodiscard]] std::string host_of(const Target& target);     // the name or the address
[[nodiscard]] std::string subject_of(const Target& target);  // with the port

// "reach": `outside` is the address that was really dialled, if it came to that.
[[nodiscard]] Event reach_event(const Target& target, Verdict verdict, std::string detail,
                                const std::optional<Address>& outside);
// "sent" or "received", of one connection or flow that is over.
[[nodiscard]] Event traffic_event(const Target& target, std::string act, std::uint64_t bytes);

// Where to dial, looked up and checked now.
struct Route {
  std::vector<Address> addresses;  // none: `problem` says why
  Verdict verdict = Verdict::Allow;
  std::string problem;
};
void find_route(const NetworkPolicy& policy, NameLookup& lookup, const Target& target,
                std::function<void(Route)> done);

}  // namespace hermetic::guard
