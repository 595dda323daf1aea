// DnsService: the Resolver on sockets inside the sandbox, by datagram and by stream.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>

#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/byte_budget.h"
#include "hermetic/guard/poller.h"
#include "hermetic/guard/resolver.h"

namespace hermetic::guard {

class DnsService {
 public:
  // All are borrowed.
  DnsService(Poller& poller, Resolver& resolver, ByteBudget& budget)
      : poller_(poller), resolver_(resolver), budget_(budget) {}
  DnsService(const DnsService&) = delete;
  DnsService& operator=(const DnsService&) = delete;

  void serve_datagrams(UniqueFd socket);  // bound
  void serve_streams(UniqueFd listener);  // bound, and listening
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  void on_time(Clock::time_point now);
  // Nobody waits for answers any more. What was asked before is told all the same, when its sockets
  // are served; and in the end tell_of_rest() tells of what nobody has come to read.
  void hear_out();
  void tell_of_rest();

 private:
  struct Socket {
    Protocol protocol = Protocol::Udp;
    UniqueFd fd;
    Poller::Watch watch;
    std::optional<Clock::time_point> retry;  // of a listener: there were no descriptors left
    std::uint32_t drops = 0;                 // of datagrams, as far as they were told of
  };
  struct Stream {
    UniqueFd fd;
    Poller::Watch watch;
    Bytes in;
    Bytes out;
    Arrival from;
    bool is_waiting = false;  // for the answer to its last question
    bool is_over = false;     // it gets no answers; what it has asked is still told
    Clock::time_point deadline;
  };

  void on_datagram(const std::shared_ptr<Socket>& socket);
  void on_connection(Socket& listener);
  void tell_of_drops(Socket& socket);
  void on_stream(std::uint64_t id);
  bool advance(std::uint64_t id, Stream& stream);  // false: it is over
  bool ask(std::uint64_t id, Stream& stream);
  void end(std::uint64_t id);

  Poller& poller_;
  Resolver& resolver_;
  ByteBudget& budget_;  // of questions and answers
  std::list<std::shared_ptr<Socket>> sockets_;
  std::map<std::uint64_t, std::shared_ptr<Stream>> streams_;
  std::uint64_t last_ = 0;
  bool is_over_ = false;  // all of them
};

}  // namespace hermetic::guard
