// NetworkObserver: hears of every attempt to reach the network or to be reached, and tells of it.
//
// It observes. What keeps the command from reaching anybody is its network namespace; what is
// refused here is refused by registers only, which no other thread can change, or is a courtesy
// that nothing depends on.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/caller_book.h"
#include "hermetic/backends/linux/network_call.h"
#include "hermetic/backends/linux/peer_checks.h"
#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/backends/linux/proof.h"
#include "hermetic/backends/linux/unix_observer.h"
#include "hermetic/guard/network_guard.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

struct SocketKind {
  bool is_internet = false;
  bool is_unix = false;
  int type = 0;      // SOCK_…
  int protocol = 0;  // IPPROTO_…; of the internet only
};

class NetworkObserver {
 public:
  using Clock = std::chrono::steady_clock;
  using Asker = std::pair<std::uint32_t, int>;  // a thread and its descriptor

  // `plan` is borrowed; `filter` is the one that the command has been exempted from for the calls
  // that are asked about.
  // A call that carries `key` in its sixth argument is init's own, which proves the sandbox.
  NetworkObserver(const Plan& plan, std::vector<sock_filter> filter, std::uint64_t key,
                  NetworkGuard* guard)
      : plan_(plan), filter_(std::move(filter)), key_(key), guard_(guard), unix_(plan) {}

  struct Heard {
    std::vector<Event> events;          // without time and processes
    std::vector<Violation> violations;  // without who it was
    // What the call returns instead of going on: 0, or an errno below 0.
    std::optional<int> answer;
    std::optional<NetworkCaller> caller;  // of what the guard will hear of, too
    std::optional<Asker> asker;           // of what is judged by what comes after it; see credit()
    std::optional<PeerChecks::Expected> peer;  // of a Unix socket, to be looked at afterwards
  };
  [[nodiscard]] Heard hear(const seccomp_notif& question, ProcessReader& processes);
  void credit(const Asker& asker, std::string who);
  // Of who listens on a Unix socket: is it one of the command's?
  [[nodiscard]] bool is_inside(pid_t process) const { return unix_.is_inside(process); }
  [[nodiscard]] const std::vector<sock_filter>& filter() const { return filter_; }
  // Is it the name that the proof of the sandbox asks for, which no command knows?
  [[nodiscard]] bool is_probe(const std::string& name) const { return name == name_of_probe(key_); }
  [[nodiscard]] std::string rule_called(const std::string& rule) const {
    return plan_.rule_called(rule);
  }

  // A socket that believes to be connected to a nameserver and asks it for nothing that is heard
  // may ask by write(), which is not. So it is a violation by itself, after a moment.
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  [[nodiscard]] std::vector<Violation> overdue(Clock::time_point now);

 private:
  void hear_socket(const seccomp_notif& question, const NetworkCall& call, Heard& heard) const;
  void hear_call(const seccomp_notif& question, const NetworkCall& call, ProcessReader& processes,
                 Heard& heard);
  void hear_path(const seccomp_notif& question, const NetworkCall& call, int type, Heard& heard);
  void hear_listen(const seccomp_notif& question, const NetworkCall& call, ProcessReader& processes,
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
  struct Judgement {
    bool denied = false;
    bool comes_to_guard = false;
    bool is_told_by_guard = false;
    std::string remedy = {};
  };
  struct Asking {
    Violation violation;
    Clock::time_point due;
    bool is_told = false;
  };
  [[nodiscard]] std::optional<Attempt> attempt_of(const seccomp_notif& question,
                                                  const NetworkCall& call,
                                                  std::optional<SocketAddress> address,
                                                  ProcessReader& processes) const;
  void hear_denied(const Asker& asker, const Attempt& attempt, const Violation& violation,
                   Heard& heard);
  void expect_name(const Asker& asker, const Violation& violation, Heard& heard);
  Judgement judge(Event& event, const Attempt& attempt) const;
  Judgement ask_guard(Event& event, const Attempt& attempt) const;

  const Plan& plan_;
  std::vector<sock_filter> filter_;
  std::uint64_t key_;
  NetworkGuard* guard_;  // outlives this, as the plan does
  UnixObserver unix_;
  std::map<Asker, Asking> asking_;  // sockets that believe to be connected to a nameserver
};

// Asks about the calls that read_network_calls() reads. A sendmsg() whose sixth argument is `key`,
// which the kernel ignores, is not asked about: init's own, before anybody can answer. Without
// `sockets`, neither is socket() for TCP and UDP, which nobody denies. With `questions`, send() is
// asked about if it may be a question for a name.
[[nodiscard]] std::vector<sock_filter> network_observer_filter(std::uint64_t key,
                                                               bool sockets = true,
                                                               bool questions = false);

// `filter`, but for the calls that are asked about and decided upon by hermetic: those of
// told_calls(), too.
[[nodiscard]] std::vector<sock_filter> exempt_from(const std::vector<sock_filter>& filter,
                                                   const std::vector<unsigned>& refused);

}  // namespace hermetic::linux_backend
