#include "hermetic/guard/datagram_relay.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace hermetic::guard {
namespace {

constexpr int kMostDatagramsPerTurn = 64;
constexpr std::size_t kMostHeldBack = 16;
constexpr std::chrono::seconds kForgotten{60};
using Buffer = std::array<std::uint8_t, 65536>;

}  // namespace

DatagramRelay::DatagramRelay(Poller& poller, ByteBudget& budget, WaitingRoom& room, UniqueFd socket,
                             std::uint16_t port, std::size_t most_flows, Callbacks callbacks)
    : poller_(poller),
      budget_(budget),
      room_(room),
      port_(port),
      most_flows_(most_flows),
      callbacks_(std::move(callbacks)),
      socket_(std::move(socket)) {
  watch_ = poller_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_inside(); });
}

void DatagramRelay::on_inside() {
  Buffer buffer;  // NOLINT(*-member-init): written before it is read
  for (int i = 0; i < kMostDatagramsPerTurn; ++i) {
    SocketAddress client;
    client.size = sizeof client.storage;
    const ssize_t count = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), 0,
                                     reinterpret_cast<sockaddr*>(&client.storage), &client.size);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) continue;  // a reply that nobody took
    const Key key(reinterpret_cast<const char*>(&client.storage), client.size);
    const std::shared_ptr<Flow> flow = flow_of(key, client);
    flow->last_used = Clock::now();
    const auto datagram = std::span(buffer).first(static_cast<std::size_t>(count));
    if (flow->outside.is_open())
      send_out(*flow, datagram);
    else
      hold_back(*flow, datagram);
  }
}

// Or it is lost, as datagrams may be.
void DatagramRelay::hold_back(Flow& flow, std::span<const std::uint8_t> datagram) {
  if (flow.waiting.size() >= kMostHeldBack ||
      room_.bytes + datagram.size() > WaitingRoom::kMostBytes)
    return;
  room_.bytes += datagram.size();
  flow.waiting.emplace_back(datagram.begin(), datagram.end());
}

std::vector<Bytes> DatagramRelay::take_waiting(Flow& flow) {
  for (const Bytes& datagram : flow.waiting) room_.bytes -= datagram.size();
  return std::exchange(flow.waiting, {});
}

std::shared_ptr<DatagramRelay::Flow> DatagramRelay::flow_of(const Key& key,
                                                            const SocketAddress& client) {
  if (const auto found = flows_.find(key); found != flows_.end()) return found->second;
  make_room();
  auto flow = std::make_shared<Flow>();
  flow->client = client;
  flow->last_used = Clock::now();
  flows_[key] = flow;
  ++started_;
  const std::weak_ptr<Flow> weak = flow;
  callbacks_.find_route([this, key, weak](const Route& route) {
    const auto held = weak.lock();
    if (!held || held->is_over) return;
    open(held, route);
    if (!held->outside.is_open()) end(key);
  });
  return flow;
}

void DatagramRelay::make_room() {
  if (flows_.size() < most_flows_) return;
  const auto oldest = std::min_element(flows_.begin(), flows_.end(), [](auto& a, auto& b) {
    return a.second->last_used < b.second->last_used;
  });
  end(Key(oldest->first));
}

void DatagramRelay::open(const std::shared_ptr<Flow>& flow, const Route& route) {
  int error = EHOSTUNREACH;
  for (const Address& address : route.addresses) {
    errno = EMFILE;
    UniqueFd outside;
    if (poller_.has_room())
      outside = UniqueFd(::socket(is_ipv4(address) ? AF_INET : AF_INET6,
                                  SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const SocketAddress form = socket_address(address, port_);
    if (!outside.is_open() || ::connect(outside.get(), form.get(), form.size) != 0) {
      error = errno;
      continue;
    }
    flow->outside = std::move(outside);
    const std::weak_ptr<Flow> weak = flow;
    flow->watch = poller_.watch(flow->outside.get(), EPOLLIN, [this, weak](std::uint32_t) {
      if (const auto held = weak.lock()) on_outside(held);
    });
    callbacks_.on_reached(flow->client, Verdict::Allow, {}, address);
    for (const Bytes& datagram : take_waiting(*flow)) send_out(*flow, datagram);
    return;
  }
  callbacks_.on_reached(
      flow->client, route.verdict,
      route.problem.empty() ? std::generic_category().message(error) : route.problem,
      route.refused);
}

void DatagramRelay::send_out(const Flow& flow, std::span<const std::uint8_t> datagram) {
  if (!budget_.take(datagram.size())) return;
  const ssize_t count = ::send(flow.outside.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL);
  if (count < 0) return;  // lost, as datagrams may be
  sent_ += static_cast<std::uint64_t>(count);
}

void DatagramRelay::on_outside(const std::shared_ptr<Flow>& flow) {
  Buffer buffer;  // NOLINT(*-member-init): written before it is read
  for (int i = 0; i < kMostDatagramsPerTurn && !flow->is_over; ++i) {
    const ssize_t count = ::recv(flow->outside.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) continue;  // nobody listens there, now; reading it clears it
    flow->last_used = Clock::now();
    if (!budget_.take(static_cast<std::size_t>(count))) continue;
    if (::sendto(socket_.get(), buffer.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL,
                 flow->client.get(), flow->client.size) < 0)
      continue;
    received_ += static_cast<std::uint64_t>(count);
  }
}

void DatagramRelay::end(const Key& key) {
  const auto found = flows_.find(key);
  if (found == flows_.end()) return;
  const std::shared_ptr<Flow> flow = found->second;
  flows_.erase(found);
  (void)take_waiting(*flow);
  flow->is_over = true;
  flow->watch = {};
  flow->outside.reset();
}

void DatagramRelay::end_all() {
  while (!flows_.empty()) end(Key(flows_.begin()->first));
}

std::optional<Clock::time_point> DatagramRelay::due() const {
  std::optional<Clock::time_point> first;
  for (const auto& [key, flow] : flows_)
    if (!first || flow->last_used + kForgotten < *first) first = flow->last_used + kForgotten;
  return first;
}

void DatagramRelay::on_time(Clock::time_point now) {
  std::vector<Key> over;
  for (const auto& [key, flow] : flows_)
    if (now >= flow->last_used + kForgotten) over.push_back(key);
  for (const Key& key : over) end(key);
}

}  // namespace hermetic::guard
