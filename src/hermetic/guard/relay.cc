#include "hermetic/guard/relay.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace hermetic::guard {
namespace {

constexpr std::chrono::seconds kDialTime{10};  // for one address
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20U;
constexpr std::size_t kMostBytesPerTurn = std::size_t{16} << 20U;
// Or who sends byte by byte would have a turn of sixteen million rounds, and the run no limits.
constexpr int kMostRoundsPerTurn = 1024;
// Within one machine there is no delay that a large buffer would bridge, and what is in a small one
// is still in the cache. The kernel doubles it.
constexpr int kLocalBuffer = 256 << 10;
// Going to sleep and being woken costs more than moving the bytes. So whoever moves many lets the
// others run for a moment and looks again, before that. Measure: benchmarks/guard_throughput.cc.
constexpr std::size_t kMany = std::size_t{64} << 10U;
constexpr int kMostYields = 32;
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
constexpr unsigned kFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

std::string text_of(int error) { return std::generic_category().message(error); }

void set_option(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

// What one side does to the other is between the two.
std::string own_problem(int error) {
  return error == ECONNRESET || error == EPIPE ? "" : text_of(error);
}

int pending_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// For a connection that does not leave the machine. The host's own congestion control may pace what
// is sent, which costs a timer for every few segments; there is nothing here to spare by it.
void set_local_options(int fd) {
  constexpr std::string_view kPlain = "reno";
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kPlain.data(), kPlain.size());
  set_option(fd, SOL_SOCKET, SO_SNDBUF, kLocalBuffer);
  set_option(fd, SOL_SOCKET, SO_RCVBUF, kLocalBuffer);
}

// Both ends have the same address.
bool is_local(int fd, const Address& peer) {
  if (is_loopback(peer)) return true;
  sockaddr_storage own = {};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
  reinterpret_cast<sockaddr_in&>(own).sin_port = 0;  // at the same place in both families
  const SocketAddress other = socket_address(peer, 0);
  return size == other.size && std::memcmp(&own, other.get(), size) == 0;
}

// close() then sends a reset instead of a polite end.
void reset_on_close(int fd) {
  const linger abrupt = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
}

}  // namespace

Relay::Relay(Poller& poller, PipePool& pipes, ByteBudget& budget, UniqueFd client,
             Callbacks callbacks)
    : poller_(poller),
      pipes_(pipes),
      budget_(budget),
      callbacks_(std::move(callbacks)),
      client_(std::move(client)) {}

void Relay::dial(std::vector<Address> addresses, std::uint16_t port) {
  addresses_ = std::move(addresses);
  std::reverse(addresses_.begin(), addresses_.end());
  port_ = port;
  state_ = State::Dialling;
  dial_next();
}

void Relay::dial_next() {
  while (!addresses_.empty()) {
    dialled_ = addresses_.back();
    addresses_.pop_back();
    server_watch_ = {};
    server_ = UniqueFd(::socket(is_ipv4(*dialled_) ? AF_INET : AF_INET6,
                                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const SocketAddress address = socket_address(*dialled_, port_);
    if (!server_.is_open() ||
        (::connect(server_.get(), address.get(), address.size) != 0 && errno != EINPROGRESS)) {
      dial_error_ = errno;
      continue;
    }
    deadline_ = Clock::now() + kDialTime;
    server_watch_ = poller_.watch(server_.get(), EPOLLOUT, [this](std::uint32_t) { on_dialled(); });
    return;
  }
  fail(text_of(dial_error_));
}

void Relay::on_dialled() {
  if (state_ != State::Dialling) return;
  dial_error_ = pending_error(server_.get());
  if (dial_error_ != 0) return dial_next();
  join();
}

void Relay::join() {
  state_ = State::Joined;
  for (const int fd : {client_.get(), server_.get()}) {
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);  // what comes in pieces is passed on in pieces
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  }
  set_local_options(client_.get());
  if (is_local(server_.get(), *dialled_)) set_local_options(server_.get());
  callbacks_.on_connected(*dialled_);
  server_watch_ = {};  // a descriptor is watched once
  server_watch_ = poller_.watch(server_.get(), kEvents,
                                [this](std::uint32_t events) { on_ready(events, server_.get()); });
  client_watch_ = poller_.watch(client_.get(), kEvents,
                                [this](std::uint32_t events) { on_ready(events, client_.get()); });
}

void Relay::on_ready(std::uint32_t events, int fd) {
  if (state_ != State::Joined) return;
  const bool whole = pump(flows_[0], client_.get(), server_.get()) &&
                     pump(flows_[1], server_.get(), client_.get());
  if (!whole) return fail(own_problem(errno));
  if (flows_[0].is_shut && flows_[1].is_shut) return end({});
  if ((events & EPOLLERR) != 0)
    if (const int error = pending_error(fd); error != 0) return fail(own_problem(error));
  // Asked again, the events of an edge are told again, after those of others.
  if (flows_[0].has_more) client_watch_.change(kEvents);
  if (flows_[1].has_more) server_watch_.change(kEvents);
}

bool Relay::pump(Flow& flow, int from, int to) {
  Turn turn;
  flow.has_more = false;
  while (!flow.is_shut) {
    if (turn.moved > kMostBytesPerTurn || ++turn.rounds > kMostRoundsPerTurn) {
      flow.has_more = true;
      break;
    }
    if (!flow.at_end && !flow.pipe && !(flow.pipe = pipes_.take())) {
      errno = EMFILE;
      return false;
    }
    Progress progress = flow.at_end ? Progress::None : fill(flow, from, turn);
    if (progress != Progress::Broken && flow.held > 0) progress = drain(flow, to, turn);
    if (progress == Progress::Broken) return false;
    if (flow.at_end && flow.held == 0) {
      ::shutdown(to, SHUT_WR);
      flow.is_shut = true;
    } else if (progress == Progress::None) {
      break;
    }
  }
  if (flow.held == 0 && flow.pipe) {
    pipes_.give_back(std::move(*flow.pipe));
    flow.pipe.reset();
  }
  return true;
}

Relay::Progress Relay::fill(Flow& flow, int from, Turn& turn) {
  const ssize_t count =
      ::splice(from, nullptr, flow.pipe->write.get(), nullptr, kMostAtOnce, kFlags);
  if (count > 0) {
    flow.held += static_cast<std::size_t>(count);
    turn.yields = 0;
    return Progress::Some;
  }
  flow.at_end = count == 0;
  if (flow.at_end) return Progress::None;
  if (errno == EINTR) return Progress::Some;
  if (errno != EAGAIN) return Progress::Broken;
  if (flow.held > 0 || turn.moved < kMany || turn.yields++ >= kMostYields) return Progress::None;
  ::sched_yield();
  return Progress::Some;
}

Relay::Progress Relay::drain(Flow& flow, int to, Turn& turn) {
  const std::size_t allowed = budget_.part_of(flow.held);
  if (allowed == 0) return Progress::None;  // and the run is about to be ended
  const ssize_t count = ::splice(flow.pipe->read.get(), nullptr, to, nullptr, allowed, kFlags);
  if (count < 0 && errno == EAGAIN) return Progress::None;
  if (count < 0 && errno != EINTR) return Progress::Broken;
  if (count > 0) {
    flow.held -= static_cast<std::size_t>(count);
    flow.moved += static_cast<std::uint64_t>(count);
    budget_.passed(static_cast<std::size_t>(count));
    turn.moved += static_cast<std::size_t>(count);
  }
  return Progress::Some;
}

void Relay::fail(const std::string& problem) {
  if (client_.is_open()) reset_on_close(client_.get());
  if (server_.is_open() && state_ == State::Joined) reset_on_close(server_.get());
  end(problem);
}

void Relay::end(const std::string& problem) {
  if (state_ == State::Over) return;
  state_ = State::Over;
  client_watch_ = {};
  server_watch_ = {};
  client_.reset();
  server_.reset();
  for (Flow& flow : flows_) {
    if (flow.pipe) pipes_.throw_away(std::move(*flow.pipe));
    flow.pipe.reset();
  }
  callbacks_.on_end(problem);
}

std::optional<Clock::time_point> Relay::due() const {
  if (state_ != State::Dialling) return {};
  return deadline_;
}

void Relay::on_time(Clock::time_point now) {
  if (state_ != State::Dialling || now < deadline_) return;
  dial_error_ = ETIMEDOUT;
  dial_next();
}

}  // namespace hermetic::guard
