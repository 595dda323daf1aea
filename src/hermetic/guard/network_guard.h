// NetworkGuard: lets a sandbox reach the hosts that its spec allows, and nobody else.
//
// Inside, every address is local (`local 0.0.0.0/0 dev lo`). An allowed destination is a listener
// that the guard opens there, from sockets that were made inside; all others are refused by the
// kernel. What arrives at a listener is for an allowed destination by construction, whatever the
// command said in its system calls. Names are answered by the guard, too. See
// docs/decisions/0011-network-allow-list.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/address.h"
#include "hermetic/guard/byte_budget.h"
#include "hermetic/guard/target.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/network.h"

namespace hermetic {

class NetworkGuard {
 public:
  using Clock = std::chrono::steady_clock;
  using Protocol = guard::Protocol;

  struct Options {
    NetworkPolicy policy = {};  // with a list of hosts
    std::string hosts_file = "/etc/hosts";
    std::string resolver_file = "/etc/resolv.conf";
    // Hears of names, connections and traffic. Called by serve() and finish(); must not call the
    // guard.
    guard::Tell tell = {};
    // Knows whose connections and questions they are. Called by serve() as they come.
    guard::FindWho find_who = {};
    bool shows_host_file = false;        // the command reads the host's own /etc/hosts
    std::size_t most_connections = 256;  // at a time; others wait to be accepted
    std::size_t most_flows = 256;        // of datagrams; the oldest makes room
    std::uint64_t most_bytes = guard::ByteBudget::kUnlimited;  // both ways; none beyond goes on
  };

  // Unbound, made in the sandbox's network namespace: AF_INET6 without IPV6_V6ONLY, or AF_INET
  // where there is no IPv6. Each destination takes one for good; the resolver takes one or two of
  // each kind.
  struct Sockets {
    std::vector<UniqueFd> tcp;
    std::vector<UniqueFd> udp;
  };

  // Opens the resolver at 127.0.0.1 and, if it can, at ::1.
  static Result<NetworkGuard> make(Options options, Sockets sockets);

  NetworkGuard(NetworkGuard&&) noexcept;
  NetworkGuard& operator=(NetworkGuard&&) noexcept;
  ~NetworkGuard();

  [[nodiscard]] int descriptor() const;                        // readable when serve() has work
  [[nodiscard]] std::optional<Clock::time_point> due() const;  // when to call it without that
  void serve();                                                // never waits

  // What stands for a rule: the guard's own names, and the sandbox's own loopback.
  static constexpr std::string_view kResolver = "resolver";
  static constexpr std::string_view kOwnLoopback = "loopback";
  struct Answer {
    bool allowed = false;
    std::string rule;    // the text of the rule that allows it, or one of those above
    std::string name;    // what the address stands for, also if the port is not allowed
    std::string detail;  // why it is refused although a rule allows it
    std::string remedy = {};
  };
  // Before the command's connect() or sendto() goes on: opens what is allowed.
  Answer prepare(const Address& address, std::uint16_t port, Protocol protocol);

  struct Destination {
    std::string host;  // a name or an address
    std::uint16_t port = 0;
    Protocol protocol = Protocol::Tcp;
    std::uint64_t connections = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;

    friend bool operator==(const Destination&, const Destination&) = default;
  };
  // So far, in the order in which they were first reached for. Those without a connection are left
  // out.
  [[nodiscard]] std::vector<Destination> traffic() const;

  // So far, both ways, with the names that were asked for; more than `most_bytes` if more was
  // wanted.
  [[nodiscard]] std::uint64_t bytes() const;

  // The command is over: serves what it has left, but not beyond `latest`, and tells of what nobody
  // has come to read by then.
  void hear_out(Clock::time_point latest);
  // Ends what is still open, and tells of it.
  void finish();

 private:
  class State;
  explicit NetworkGuard(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace hermetic
