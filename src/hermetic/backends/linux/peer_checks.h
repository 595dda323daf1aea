// PeerChecks: whom Unix sockets came to be connected to, once they are.
//
// The name in a call is read before the kernel reads it, and another thread may change it in
// between. A copy of the socket is kept until the call is over: who listened at its other end is
// then known from the kernel.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

class PeerChecks {
 public:
  using Clock = std::chrono::steady_clock;

  struct Expected {
    pid_t thread = 0;
    int descriptor = -1;
    std::string path;         // where it is meant to lead
    bool is_allowed = false;  // to lead outside
    std::string who = {};     // for people
  };
  // `is_inside` says of a process that it listens and is one of the command's.
  explicit PeerChecks(std::function<bool(pid_t)> is_inside) : is_inside_(std::move(is_inside)) {}

  void expect(Expected expected, ProcessReader& processes);
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  // What turned out to lead elsewhere. With time_point::max() all are looked at for the last time.
  [[nodiscard]] std::vector<Violation> look(Clock::time_point now);

 private:
  struct Pending {
    Expected expected;
    std::unique_ptr<ProcessReader::Copy> socket;
    Clock::time_point since;
    Clock::time_point next;
    std::chrono::milliseconds pause = {};
  };
  enum class State { Waiting, Good, Bad, Over };
  [[nodiscard]] State state_of(const Pending& pending, Clock::time_point now) const;

  std::function<bool(pid_t)> is_inside_;
  std::list<Pending> pending_;
  std::vector<Violation> early_;
};

}  // namespace hermetic::linux_backend
