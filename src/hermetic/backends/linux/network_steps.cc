#include "hermetic/backends/linux/network_steps.h"

#include <sys/socket.h>

namespace hermetic::linux_backend {

void add_network_steps(LoweredScript& script, const Plan& plan, const Facts& facts) {
  using Kind = Step::Kind;
  using Mode = NetworkPolicy::Mode;
  const bool hosts = plan.network.mode == Mode::Hosts;
  if (hosts || plan.network.mode == Mode::Loopback)
    script.steps.push_back({.kind = Kind::RaiseLoopback});
  if (!hosts) return;
  for (const int family : {AF_INET, AF_INET6})
    script.steps.push_back({.kind = Kind::MakeLocal, .number = static_cast<std::uint64_t>(family)});
  script.steps.push_back({.kind = Kind::PassSockets,
                          .number = kTcpSockets,
                          .second = kUdpSockets,
                          .flags = static_cast<unsigned long>(facts.guard_socket)});
}

}  // namespace hermetic::linux_backend
