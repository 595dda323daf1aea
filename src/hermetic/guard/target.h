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

// What has come from the command: its own side, inside, and where it wants to go.
struct Arrival {
  Protocol protocol = Protocol::Tcp;
  Address from = {};
  std::uint16_t from_port = 0;
  Address to = {};  // not of a question for a name
  std::uint16_t to_port = 0;
  std::string name = {};  // what a nameserver is asked for
};
[[nodiscard]] Arrival arrival_of(Protocol protocol, const SocketAddress& from);

// Whose it is. The guard does not know: it asks, and passes on what it hears.
struct Who {
  std::vector<ProcessFacts> processes;  // as in an Event; none if that is not certain
  std::string perhaps = {};             // who it may have been then, for people

  friend bool operator==(const Who&, const Who&) = default;
};
using FindWho = std::function<Who(const Arrival&)>;
using Tell = std::function<void(Event, const Who&)>;

[[nodiscard]] std::string host_of(const Target& target);     // the name or the address
[[nodiscard]] std::string subject_of(const Target& target);  // with the port

// "reach": `outside` is the address that was really dialled, or that must not be.
[[nodiscard]] Event reach_event(const Target& target, Verdict verdict, std::string detail,
                                const std::optional<Address>& outside);
// "sent" or "received".
[[nodiscard]] Event traffic_event(const Target& target, std::string act, std::uint64_t bytes);

// Where to dial, looked up and checked now.
struct Route {
  std::vector<Address> addresses;  // none: `problem` says why
  Verdict verdict = Verdict::Allow;
  std::string problem;
  std::optional<Address> refused = {};  // where it leads, if that is the problem
};
void find_route(const NetworkPolicy& policy, NameLookup& lookup, const Target& target,
                std::function<void(Route)> done);

}  // namespace hermetic::guard
