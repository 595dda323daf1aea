// Relay: one connection of the command, joined with one that is made outside.
//
// The bytes go from socket to pipe to socket by splice(2) and are never seen here. Each direction
// ends on its own, as the two sides end it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/address.h"
#include "hermetic/guard/byte_budget.h"
#include "hermetic/guard/pipe_pool.h"
#include "hermetic/guard/poller.h"

namespace hermetic::guard {

class Relay {
 public:
  struct Callbacks {
    std::function<void(const Address&)> on_connected;
    // The last one: "" or why there was no connection, or none any more; that one of the two sides
    // has ended it is no reason.
    std::function<void(const std::string& problem)> on_end;
  };

  // `poller`, `pipes` and `budget` are borrowed.
  Relay(Poller& poller, PipePool& pipes, ByteBudget& budget, UniqueFd client, Callbacks callbacks);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Tries one address after the other. May be the end of it at once.
  void dial(std::vector<Address> addresses, std::uint16_t port);
  // Instead: the client sees a reset.
  void refuse(const std::string& problem) { fail(problem); }

  [[nodiscard]] std::uint64_t sent() const { return flows_[0].moved; }
  [[nodiscard]] std::uint64_t received() const { return flows_[1].moved; }
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  void on_time(Clock::time_point now);

 private:
  enum class State { Waiting, Dialling, Joined, Over };

  // One direction.
  struct Flow {
    std::optional<Pipe> pipe;  // while something is in it
    std::size_t held = 0;
    std::uint64_t moved = 0;
    bool at_end = false;    // nothing more comes
    bool is_shut = false;   // and that was passed on
    bool has_more = false;  // it was stopped to let others have a turn
  };

  // What has been done since others had their turn.
  struct Turn {
    std::size_t moved = 0;
    int rounds = 0;
    int yields = 0;
  };
  enum class Progress { Some, None, Broken };  // errno says how

  void dial_next();
  void on_dialled();
  void join();
  void on_ready(std::uint32_t events, int fd);
  bool pump(Flow& flow, int from, int to);  // false: broken
  static Progress fill(Flow& flow, int from, Turn& turn);
  Progress drain(Flow& flow, int to, Turn& turn);
  void fail(const std::string& problem);
  void end(const std::string& problem);

  Poller& poller_;
  PipePool& pipes_;
  ByteBudget& budget_;
  Callbacks callbacks_;
  State state_ = State::Waiting;
  std::vector<Address> addresses_;  // the next one last
  std::uint16_t port_ = 0;
  std::optional<Address> dialled_;
  int dial_error_ = 0;
  Clock::time_point deadline_ = {};
  std::array<Flow, 2> flows_;  // out, and back in
  UniqueFd client_;
  UniqueFd server_;
  Poller::Watch client_watch_;
  Poller::Watch server_watch_;
};

}  // namespace hermetic::guard
