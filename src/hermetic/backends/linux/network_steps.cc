#include "hermetic/backends/linux/network_steps.h"

#include <sys/socket.h>

namespace hermetic::linux_backend {

void add_network_steps(LoweredScript& script, const Plan& plan, const Facts& facts) {
  using Kind = Step::Kind;
  using Mode = NetworkPolicy::Mode;
  const bool hosts = plan.network.mode == Mode::Hosts;
  if (!hosts && plan.network.mode != Mode::Loopback) return;
  // A host that has turned IPv6 off on all interfaces means its network, and not this one.
  script.steps.push_back({.kind = Kind::TryWriteFile,
                          .target = "/proc/sys/net/ipv6/conf/lo/disable_ipv6",
                          .text = "0",
                          .text_size = 1});
  script.steps.push_back({.kind = Kind::RaiseLoopback});
  // Of this namespace only. The host's own choice may pace what is sent, as bbr does, and there is
  // no network here that it would spare: connections through the guard were slower by a third.
  script.steps.push_back({.kind = Kind::TryWriteFile,
                          .target = "/proc/sys/net/ipv4/tcp_congestion_control",
                          .text = "reno",
                          .text_size = 4});
  if (!hosts) return;
  for (const int family : {AF_INET, AF_INET6})
    script.steps.push_back({.kind = Kind::MakeLocal, .number = static_cast<std::uint64_t>(family)});
  script.steps.push_back({.kind = Kind::PassSockets,
                          .number = kTcpSockets,
                          .second = kUdpSockets,
                          .flags = static_cast<unsigned long>(facts.guard_socket)});
}

}  // namespace hermetic::linux_backend
