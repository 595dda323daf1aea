#include "hermetic/guard/target.h"

#include <fmt/format.h>

#include <utility>

#include "hermetic/guard/allow_list.h"

namespace hermetic::guard {

Arrival arrival_of(Protocol protocol, const SocketAddress& from) {
  const auto [address, port] = place_in(from.storage);
  return {.protocol = protocol, .from = address, .from_port = port};
}

std::string host_of(const Target& target) {
  return target.name.empty() ? address_text(target.address) : target.name;
}

std::string subject_of(const Target& target) {
  return target.name.empty() ? endpoint_text(target.address, target.port)
                             : fmt::format("{}:{}", target.name, target.port);
}

namespace {

Event event_about(const Target& target, Event::Kind kind, std::string act, const Address& address) {
  Event event;
  event.kind = kind;
  event.act = std::move(act);
  event.subject = subject_of(target);
  event.rule = target.rule;
  event.endpoint = Endpoint{.family = is_ipv4(address) ? "inet" : "inet6",
                            .protocol = target.protocol == Protocol::Tcp ? "tcp" : "udp",
                            .address = address_text(address),
                            .port = target.port,
                            .name = target.name};
  return event;
}

}  // namespace

Event reach_event(const Target& target, Verdict verdict, std::string detail,
                  const std::optional<Address>& outside) {
  Event event =
      event_about(target, Event::Kind::Network, "reach", outside.value_or(target.address));
  event.verdict = verdict;
  event.detail = std::move(detail);
  return event;
}

Event traffic_event(const Target& target, std::string act, std::uint64_t bytes) {
  Event event = event_about(target, Event::Kind::Traffic, std::move(act), target.address);
  event.amount = bytes;
  return event;
}

void find_route(const NetworkPolicy& policy, NameLookup& lookup, const Target& target,
                std::function<void(Route)> done) {
  if (target.name.empty()) return done({.addresses = {target.address}, .problem = {}});
  lookup.find(target.name,
              [&policy, port = target.port, done = std::move(done)](const LookupAnswer& answer) {
                Route route;
                if (answer.status == LookupAnswer::Status::Failed) {
                  route.problem = "the lookup failed";
                } else {
                  UsableAddresses addresses = usable_addresses(policy, answer.addresses, port);
                  route.addresses = std::move(addresses.usable);
                  if (route.addresses.empty() && !addresses.refused.empty()) {
                    route.verdict = Verdict::Deny;
                    route.problem = addresses.refused + ", and no rule names it";
                    route.refused = addresses.refused_address;
                  } else if (route.addresses.empty()) {
                    route.problem = "the name has no address any more";
                  }
                }
                done(std::move(route));
              });
}

}  // namespace hermetic::guard
