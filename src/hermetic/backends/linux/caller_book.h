// CallerBook: who has lately reached for whom.
//
// What comes to the guard of allowed hosts has an address, and no process. While it waits for an
// answer, whoever called still holds the socket: that is looked at. Who has closed it by then is
// remembered by where it went, as far as only one process can be meant.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "hermetic/backends/linux/process_reader.h"
#include "hermetic/guard/target.h"
#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

struct NetworkCaller {
  pid_t thread = 0;
  int descriptor = -1;
  guard::Protocol protocol = guard::Protocol::Tcp;
  Address to = {};
  std::uint16_t port = 0;
  std::string name = {};  // what a nameserver is asked for, if the call says so
};

class CallerBook {
 public:
  // `processes` as in an Event. The oldest makes room.
  void add(NetworkCaller caller, std::vector<ProcessFacts> processes);
  [[nodiscard]] guard::Who find(const guard::Arrival& arrival, ProcessReader& processes) const;

 private:
  struct Entry {
    NetworkCaller caller;
    std::vector<ProcessFacts> processes;
  };

  std::deque<Entry> entries_;  // the latest first
};

// "curl https://example.org" for people.
[[nodiscard]] std::string command_line(const ProcessFacts& process);

}  // namespace hermetic::linux_backend
