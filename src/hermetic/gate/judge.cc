#include "hermetic/gate/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic::gate {
namespace {

constexpr std::array<std::string_view, 6> kOutbound = {"connect", "send",     "sendto",
                                                       "sendmsg", "sendmmsg", "resolve"};

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

// Listening on all addresses is listening on loopback where there is no other.
bool is_any(std::string_view address) { return address == "0.0.0.0" || address == "::"; }

}  // namespace

std::vector<NetworkAct> network_acts(const RunRecord& record, const Redaction& redaction) {
  std::vector<NetworkAct> acts;
  const auto text = [&](const std::string& raw) { return printable(redaction.clean(raw)); };
  for (const Attempt& attempt : record.network) {
    const Event& event = attempt.event;
    NetworkAct act{.act = text(event.act),
                   .subject = text(event.subject),
                   .host = "",
                   .port = 0,
                   .loopback = false,
                   .denied = event.verdict == Verdict::Deny,
                   .chain = chain_of(event, redaction),
                   .count = attempt.count};
    if (event.endpoint) {
      const Endpoint& endpoint = *event.endpoint;
      act.host = text(endpoint.name.empty() ? endpoint.address : endpoint.name);
      act.port = endpoint.port;
      act.loopback = is_loopback(endpoint.address) ||
                     ((act.act == "listen" || act.act == "bind") && is_any(endpoint.address));
    }
    act.unix_socket = event.rule == kUnixSocketsRule;
    if (act.act == "resolve" && act.host.empty()) act.host = act.subject;
    acts.push_back(std::move(act));
  }
  return acts;
}

// A socket of datagrams is reached as soon as it is bound; on a port that the kernel chooses it
// waits for answers. So is a Unix socket that has a name outside.
bool is_listener(const NetworkAct& act) {
  if (act.act == "listen") return true;
  return act.act == "bind" && (act.unix_socket || (act.port != 0 && act.subject.ends_with("/udp")));
}

bool is_outbound(const NetworkAct& act) {
  return std::find(kOutbound.begin(), kOutbound.end(), act.act) != kOutbound.end();
}

namespace {

// A short path is one below the workspace, wherever that was.
// Packets that no policy can speak of.
bool is_beyond_policies(const NetworkAct& act) {
  if (act.act != "socket") return false;
  const bool raw = act.subject.ends_with("/raw") && !act.subject.starts_with("netlink");
  return raw || act.subject.starts_with("packet") || act.subject.starts_with("vsock");
}

bool names_socket(const Step& step, const std::string& path) {
  const std::set<std::string> allowed = unix_sockets_of(step);
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
    return path == name || (!name.starts_with('/') && path.ends_with("/" + name));
  });
}

}  // namespace

bool allows(const Step& step, const NetworkAct& act) {
  if (act.unix_socket) return names_socket(step, act.subject);
  const NetworkPolicy network = network_of(step);
  if (is_listener(act)) return step.loopback || listen_ports_of(step).contains(act.port);
  // What goes through a ring is not seen by anybody.
  if (act.act == "io_uring_setup" || is_beyond_policies(act)) return false;
  if (!is_outbound(act)) return !act.denied;
  using Mode = NetworkPolicy::Mode;
  if (act.loopback && network.mode == Mode::Loopback) return true;
  // Beside a list of hosts, too, a step may reach what it may serve.
  if (act.loopback && (step.loopback || listen_ports_of(step).contains(act.port))) return true;
  if (network.mode != Mode::Hosts) return false;
  // A name may be looked up if any of its ports may be reached.
  if (act.act == "resolve")
    return std::any_of(network.hosts.begin(), network.hosts.end(), [&](const HostRule& rule) {
      return network.can_reach(act.host, rule.port.value_or(1));
    });
  return network.can_reach(act.host, act.port);
}

namespace {

// For tools and for people.
std::pair<std::string_view, std::string> words_for(const NetworkAct& act) {
  if (act.unix_socket && is_listener(act))
    return {"listener", fmt::format("it made the Unix socket {}, which processes outside can reach",
                                    act.subject)};
  if (act.unix_socket)
    return {"network-denied",
            fmt::format("{} to the Unix socket {}, whose other end is outside, {}", act.act,
                        act.subject, act.denied ? "was denied" : "is not allowed")};
  if (is_listener(act)) return {"listener", fmt::format("it listened on {}", act.subject)};
  if (act.act == "resolve")
    return {"name-lookup", fmt::format("it asked for the name {}", act.subject)};
  if (act.act == "io_uring_setup")
    return {"socket", "it asked for io_uring, with which it could not be watched"};
  if (act.act == "socket")
    return {"socket",
            fmt::format("it made a socket of the kind {}, which no policy allows", act.subject)};
  return {"network-denied", fmt::format("{} to {}{}", act.act, act.subject,
                                        act.denied ? " was denied" : " is not allowed")};
}

}  // namespace

std::vector<Breach> breaches_under(const Step& step, const std::vector<NetworkAct>& acts) {
  std::vector<Breach> breaches;
  const std::string rule = fmt::format("step {} ({})", step.id, to_string(step.network_origin()));
  for (const NetworkAct& act : acts) {
    if (allows(step, act)) continue;
    const auto& [rule_id, message] = words_for(act);
    breaches.push_back({.rule_id = std::string(rule_id),
                        .message = message,
                        .chain = act.chain,
                        .decided_by = rule,
                        .count = act.count});
  }
  return breaches;
}

}  // namespace hermetic::gate
