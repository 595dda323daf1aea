#include "hermetic/gate/policy.h"

#include <algorithm>
#include <string>

namespace hermetic::gate {

Origin Step::network_origin() const {
  return exceptions.empty() ? origin : exceptions.front().origin;
}

const Step* Policy::find(std::string_view id) const {
  const auto found = std::ranges::find(steps, id, &Step::id);
  return found == steps.end() ? nullptr : &*found;
}

NetworkPolicy network_of(const Step& step) {
  NetworkPolicy network;
  bool loopback = step.loopback;
  for (const GovernedException& exception : step.exceptions) {
    if (exception.host) network.hosts.push_back(*exception.host);
    // Who listens may be spoken to.
    if (exception.listen_port) loopback = true;
  }
  if (network.hosts.empty()) {
    network.mode = loopback ? NetworkPolicy::Mode::Loopback : NetworkPolicy::Mode::None;
    return network;
  }
  network.mode = NetworkPolicy::Mode::Hosts;
  if (loopback)
    if (const Result<NetworkPolicy> own = NetworkPolicy::allow_hosts({"loopback"}); own)
      network.hosts.insert(network.hosts.end(), own->hosts.begin(), own->hosts.end());
  std::sort(network.hosts.begin(), network.hosts.end());
  network.hosts.erase(std::unique(network.hosts.begin(), network.hosts.end()), network.hosts.end());
  return network;
}

std::set<std::uint16_t> listen_ports_of(const Step& step) {
  std::set<std::uint16_t> ports;
  for (const GovernedException& exception : step.exceptions)
    if (exception.listen_port) ports.insert(*exception.listen_port);
  return ports;
}

std::set<std::string> unix_sockets_of(const Step& step) {
  std::set<std::string> paths;
  for (const GovernedException& exception : step.exceptions)
    if (!exception.unix_socket.empty()) paths.insert(exception.unix_socket);
  return paths;
}

std::string subject_of(const GovernedException& exception) {
  if (exception.host) return to_string(*exception.host);
  if (exception.listen_port) return "port " + std::to_string(*exception.listen_port);
  return "the socket " + exception.unix_socket;
}

bool has_expired(const GovernedException& exception, std::string_view today) {
  return !exception.expires.empty() && exception.expires < today;
}

}  // namespace hermetic::gate
