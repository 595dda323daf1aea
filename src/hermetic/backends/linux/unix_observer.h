// UnixObserver: hears of Unix sockets that have a path, and tells which lead out of the sandbox.
//
// The network namespace does not hold for them: who finds the name may connect, also where the
// mount is read only. A socket that lies on a file system of the sandbox's own has both ends
// inside. Any other, in an input or an output, leads to processes outside or can be reached by
// them. It is judged by the object that the name leads to. A thread that changes the name while
// it is read is found out afterwards, by whom the socket is then connected to; datagrams that are
// sent without a connection are not.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hermetic/backends/linux/network_call.h"
#include "hermetic/plan/plan.h"
#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

struct SocketObject;
struct SocketPath;

class UnixObserver {
 public:
  explicit UnixObserver(const Plan& plan) : plan_(plan) {}

  struct Heard {
    std::optional<Event> event;
    std::optional<Violation> violation;
    std::optional<int> answer;
    // Where a connection is expected to lead; whether it does is to be looked at once it is there.
    std::optional<std::string> peer;
  };
  // Connect, Bind or Send to an address of which `path` is the name; `type` of the socket.
  [[nodiscard]] Heard hear(pid_t thread, const NetworkCall& call, const std::string& path,
                           int type);
  // Listen on a socket that is bound to `name`, as the kernel says it: news only if the name was
  // another when bind() was heard.
  [[nodiscard]] Heard hear_listen(pid_t thread, const NetworkCall& call, const std::string& name);
  // Who listens is one of those inside.
  void note_listener(pid_t process);
  [[nodiscard]] bool is_inside(pid_t process) const { return listeners_.contains(process); }
  [[nodiscard]] bool is_allowed(const std::string& path) const;

 private:
  Heard hear_bind(pid_t thread, const NetworkCall& call, const std::string& path);
  [[nodiscard]] bool is_open_network() const {
    return plan_.network.mode == NetworkPolicy::Mode::Host;
  }
  [[nodiscard]] bool is_private(const SocketObject& found, const SocketPath& seen) const;
  void deny(const std::string& reason, Heard& heard) const;
  Heard hear_unfound(pid_t thread, const NetworkCall& call, const std::string& path, int type,
                     const SocketObject& found) const;

  const Plan& plan_;
  std::set<pid_t> listeners_;
  std::set<std::string> names_;  // that were bound, as they were written
  std::set<std::string> own_;    // names that the command made where others can see them
};

}  // namespace hermetic::linux_backend
