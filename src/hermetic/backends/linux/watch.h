// Watch: hears what the command asks the kernel for, and tells of it. One listener for all that is
// watched: the kernel allows no second one.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/caller_book.h"
#include "hermetic/backends/linux/file_observer.h"
#include "hermetic/backends/linux/network_observer.h"
#include "hermetic/backends/linux/peer_checks.h"
#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/backends/linux/refused_calls.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/backend.h"

namespace hermetic::linux_backend {

// What is listened for. Nothing at all where the plan says that the network is not watched.
struct Watched {
  bool network = false;
  bool sockets = true;     // also when they are made, which is worth an event and nothing else
  bool questions = false;  // also send() of what may ask for a name: nothing else can be sent
  bool processes = false;
  bool files = false;

  [[nodiscard]] bool any() const { return network || processes || files; }
};
[[nodiscard]] Watched watched_in(const Plan& plan, const RunOptions& options);

// Which detectors are on, and why the others are not.
[[nodiscard]] std::vector<Event> coverage_of(const Plan& plan, const RunOptions& options);

// The filter that asks. `key` as in network_observer_filter().
// `refused` are the calls of told_calls().
[[nodiscard]] std::vector<sock_filter> watch_filter(const Watched& watched, std::uint64_t key,
                                                    const std::vector<unsigned>& refused = {});

// Is this a descriptor that seccomp(2) gave?
[[nodiscard]] bool is_listener(int descriptor);

class Watch {
 public:
  struct Options {
    Watched watched;
    pid_t init = 0;
    bool is_heard = true;  // somebody wants to know who did what is told
    std::function<std::string(const AskedPath& asked)> why_denied;  // as in RunOptions
    std::function<void(Event)> tell;
    // True: the call that made it is not to return. It waits until its process is ended.
    std::function<bool(const Violation&)> on_violation;
    // Before each question: what has come to the guard by then was before it.
    std::function<void()> before = {};
  };
  Watch(UniqueFd listener, NetworkObserver network, Options options);

  [[nodiscard]] int descriptor() const { return listener_.get(); }
  void serve();  // the questions that are there; call it when the descriptor is readable
  void close() { listener_.reset(); }

  // What the guard of allowed hosts has heard of. Names and where they lead are known only there.
  void hear_guard(Event event, const guard::Who& who);
  [[nodiscard]] guard::Who who_came(const guard::Arrival& arrival) {
    return callers_.find(arrival, processes_);
  }

  // When to call on_time() for what nobody has told of by then; time_point::max() for all of it.
  [[nodiscard]] std::optional<NetworkObserver::Clock::time_point> due() const;
  void on_time(NetworkObserver::Clock::time_point now);

  // Puts down what was heard. Violations are each there once, with how often they were tried; in
  // the order of the first attempts.
  void finish(Outcome& outcome);

 private:
  void answer_one();
  void hear_network(const seccomp_notif& question, seccomp_notif_resp& answer);
  void hear_process(const seccomp_notif& question);
  void hear_files(const seccomp_notif& question);
  [[nodiscard]] bool is_own(std::string_view path) const;
  enum class Who { Caller, Chain };
  [[nodiscard]] std::vector<ProcessFacts> who(const seccomp_notif& question, Who asked);
  void note(Violation violation, const std::vector<ProcessFacts>& who);

  bool hear_refused(const seccomp_notif& question, seccomp_notif_resp& answer);

  UniqueFd listener_;
  bool hold_ = false;  // the call that is being heard
  NetworkObserver network_;
  FileObserver files_;
  std::set<std::string, std::less<>> own_;  // what the command may write, and was asked to
  std::size_t own_bytes_ = 0;
  std::vector<DeniedPath> denied_;
  std::size_t denied_bytes_ = 0;
  std::uint64_t more_denied_ = 0;
  bool has_hidden_files_ = false;
  Options options_;
  ProcessReader processes_;
  CallerBook callers_;
  PeerChecks peers_{[this](pid_t process) { return network_.is_inside(process); }};
  std::optional<RefusedCalls> refused_;
  std::vector<Violation> violations_;
  std::size_t violation_bytes_ = 0;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;  // by subject and who
};

}  // namespace hermetic::linux_backend
