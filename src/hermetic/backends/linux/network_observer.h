// NetworkObserver: hears of every attempt to reach the network or to be reached, and tells of it.
//
// It observes. What keeps the command from reaching anybody is its network namespace; what is
// refused here is refused by registers only, which no other thread can change, or is a courtesy
// that nothing depends on.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/network_call.h"
#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/guard/network_guard.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/network.h"

namespace hermetic::linux_backend {

struct SocketKind {
  bool is_internet = false;
  int protocol = 0;  // IPPROTO_…; of the internet only
};

class NetworkObserver {
 public:
  // `rule` is what the policy is called in events; `filter` is the one that the command has been
  // exempted from for the calls that are asked about.
  // A call that carries `key` in its sixth argument is init's own, which proves the sandbox.
  NetworkObserver(NetworkPolicy policy, std::string rule, std::vector<sock_filter> filter,
                  std::uint64_t key, NetworkGuard* guard)
      : policy_(std::move(policy)),
        rule_(std::move(rule)),
        filter_(std::move(filter)),
        key_(key),
        guard_(guard) {}  // of an allow list; outlives this

  struct Heard {
    std::vector<Event> events;          // without time and processes
    std::vector<Violation> violations;  // without who it was
    // What the call returns instead of going on: 0, or an errno below 0.
    std::optional<int> answer;
  };
  [[nodiscard]] Heard hear(const seccomp_notif& question, ProcessReader& processes);

  // Of attempts that could only be judged by what came after them, and nothing did.
  [[nodiscard]] std::vector<Violation> rest() const;

 private:
  void hear_socket(const seccomp_notif& question, const NetworkCall& call, Heard& heard) const;
  void hear_call(const seccomp_notif& question, const NetworkCall& call, ProcessReader& processes,
                 Heard& heard);
  void hear_hidden(const NetworkCall& call, const std::optional<SocketKind>& socket,
                   Heard& heard) const;
  struct Attempt {
    NetworkCall::Kind kind;
    SocketAddress to;
    int protocol = 0;
    std::string name;        // what a name server is asked for
    bool pretended = false;  // by a socket that only believes to be connected to one
  };
  using Asker = std::pair<std::uint32_t, int>;  // a thread and its descriptor
  [[nodiscard]] std::optional<Attempt> attempt_of(const seccomp_notif& question,
                                                  const NetworkCall& call,
                                                  std::optional<SocketAddress> address,
                                                  ProcessReader& processes) const;
  void hear_denied(const Asker& asker, const Attempt& attempt, const Violation& violation,
                   Heard& heard);
  bool judge(Event& event, const Attempt& attempt) const;
  bool ask_guard(Event& event, const Attempt& attempt, bool& cannot_be_had) const;

  NetworkPolicy policy_;
  std::string rule_;
  std::vector<sock_filter> filter_;
  std::uint64_t key_;
  NetworkGuard* guard_;
  std::map<Asker, Violation> asking_;  // sockets that believe to be connected to a name server
};

// Asks about the calls that read_network_calls() reads. A sendmsg() whose sixth argument is `key`,
// which the kernel ignores, is not asked about: init's own, before anybody can answer. Without
// `sockets`, neither is socket() for TCP and UDP, which nobody denies.
[[nodiscard]] std::vector<sock_filter> network_observer_filter(std::uint64_t key,
                                                               bool sockets = true);

// `filter`, but for the calls that are asked about and decided upon by hermetic.
[[nodiscard]] std::vector<sock_filter> exempt_from(const std::vector<sock_filter>& filter);

}  // namespace hermetic::linux_backend
