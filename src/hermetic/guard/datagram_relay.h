// DatagramRelay: the datagrams that the command sends to one target, and the replies.
//
// Each socket of the command that sends there has a socket of its own outside, which is connected:
// only the target can reply. The socket inside is bound to the target's address, so replies come
// from there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/byte_budget.h"
#include "hermetic/guard/dns_message.h"
#include "hermetic/guard/poller.h"
#include "hermetic/guard/target.h"

namespace hermetic::guard {

// Of all relays together, what waits until it is known where to. The command chooses how much it
// sends before any name is looked up.
struct WaitingRoom {
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  std::size_t bytes = 0;
};

class DatagramRelay {
 public:
  struct Callbacks {
    // Looks the target up, checked now.
    std::function<void(std::function<void(Route)>)> find_route;
    // `outside` is where it was sent to, or must not be.
    std::function<void(const SocketAddress& client, Verdict, const std::string& problem,
                       std::optional<Address> outside)>
        on_reached;
  };

  // `socket` is bound to the target's address inside. `poller`, `budget` and `room` are
  // borrowed.
  DatagramRelay(Poller& poller, ByteBudget& budget, WaitingRoom& room, UniqueFd socket,
                std::uint16_t port, std::size_t most_flows, Callbacks callbacks);
  DatagramRelay(const DatagramRelay&) = delete;
  DatagramRelay& operator=(const DatagramRelay&) = delete;

  [[nodiscard]] std::uint64_t flows() const { return started_; }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  void on_time(Clock::time_point now);
  void end_all();

 private:
  struct Flow {
    SocketAddress client;
    UniqueFd outside;
    Poller::Watch watch;
    std::vector<Bytes> waiting;  // until it is known where to
    Clock::time_point last_used;
    bool is_over = false;
  };
  using Key = std::string;  // the bytes of the client's address

  void on_inside();
  void on_outside(const std::shared_ptr<Flow>& flow);
  std::shared_ptr<Flow> flow_of(const Key& key, const SocketAddress& client);
  void make_room();
  void open(const std::shared_ptr<Flow>& flow, const Route& route);
  void hold_back(Flow& flow, std::span<const std::uint8_t> datagram);
  [[nodiscard]] std::vector<Bytes> take_waiting(Flow& flow);
  void send_out(const Flow& flow, std::span<const std::uint8_t> datagram);
  void end(const Key& key);

  Poller& poller_;
  ByteBudget& budget_;
  WaitingRoom& room_;
  std::uint16_t port_;
  std::size_t most_flows_;
  Callbacks callbacks_;
  std::uint64_t started_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::map<Key, std::shared_ptr<Flow>> flows_;
  UniqueFd socket_;
  Poller::Watch watch_;
};

}  // namespace hermetic::guard
