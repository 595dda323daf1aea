#include "hermetic/guard/network_guard.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "hermetic/guard/allow_list.h"
#include "hermetic/guard/datagram_relay.h"
#include "hermetic/guard/dns_service.h"
#include "hermetic/guard/pipe_pool.h"
#include "hermetic/guard/poller.h"
#include "hermetic/guard/relay.h"
#include "hermetic/guard/socket_pool.h"

namespace hermetic {

using namespace guard;  // NOLINT(google-build-using-namespace): this file is its front door

namespace {

constexpr std::uint16_t kDnsPort = 53;
constexpr std::chrono::milliseconds kRetry{100};  // when there were no descriptors left

const Address kLoopback = ipv4_address(0x7F000001);
constexpr Address kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

NetworkGuard::Answer refused(NetworkGuard::Answer answer, const Error& error) {
  answer.allowed = false;
  answer.detail = error.message;
  answer.remedy = error.hint;
  return answer;
}

void take_earlier(std::optional<Clock::time_point>& first, std::optional<Clock::time_point> time) {
  if (time && (!first || *time < *first)) first = time;
}

}  // namespace

class NetworkGuard::State {
 public:
  State(Options options, Sockets sockets, std::unique_ptr<Poller> poller)
      : options_(std::move(options)),
        poller_(std::move(poller)),
        tcp_(std::move(sockets.tcp)),
        udp_(std::move(sockets.udp)),
        most_flows_(std::max<std::size_t>(1, options_.most_flows / (udp_.size() + 1))),
        lookup_(*poller_, parse_hosts(read_host_file(options_.hosts_file)),
                parse_resolver_settings(read_host_file(options_.resolver_file))),
        resolver_(
            options_.policy, lookup_,
            {.tell = options_.tell, .find_who = options_.find_who, .has_ipv6 = tcp_.takes_ipv6()}),
        budget_(options_.most_bytes),
        dns_(*poller_, resolver_, budget_) {}

  Result<void> open_resolver(const Address& address, Protocol protocol);
  Result<void> open_first_resolvers();
  Answer prepare(const Address& given, std::uint16_t port, Protocol protocol);
  void serve();
  void hear_out(Clock::time_point latest);
  void finish();
  [[nodiscard]] int descriptor() const { return poller_->descriptor(); }
  [[nodiscard]] std::optional<Clock::time_point> due() const;
  [[nodiscard]] std::vector<Destination> traffic() const;
  [[nodiscard]] std::uint64_t bytes() const { return budget_.counted(); }

 private:
  using Place = std::tuple<Address, std::uint16_t, Protocol>;
  // An allowed destination that is open; `listener` for connections, `datagrams` otherwise.
  struct Opened {
    Target target;
    UniqueFd listener;
    Poller::Watch watch;
    std::unique_ptr<DatagramRelay> datagrams;
    std::uint64_t connections = 0;
    std::uint64_t sent = 0;  // by those that are over
    std::uint64_t received = 0;
    std::string problem;                     // the first that a connection had once it was there
    std::optional<Who> who;                  // who came here, if that was always the same
    std::array<std::uint64_t, 2> told = {};  // of the bytes, both ways
  };
  struct Connection {
    Opened* opened = nullptr;
    std::unique_ptr<Relay> relay;
    Who who;
    bool is_told = false;  // whether it was reached
  };

  Answer open_target(Target target, Answer answer);
  Result<void> open(Opened& opened);
  void accept_from(Opened& opened);
  void start(Opened& opened, UniqueFd client, const SocketAddress& from);
  void ended(std::uint64_t id, const std::string& problem);
  void pause(bool is_full);
  Who who_came(Opened& opened, const SocketAddress& from) const;
  void tell(Event event, const Who& who) const {
    if (options_.tell) options_.tell(std::move(event), who);
  }
  void tell_reach(Connection& connection, Verdict verdict, const std::string& problem,
                  const std::optional<Address>& outside) const;
  void tell_traffic(Opened& opened) const;

  Options options_;
  std::unique_ptr<Poller> poller_;
  SocketPool tcp_;
  SocketPool udp_;
  std::size_t most_flows_;
  NameLookup lookup_;
  Resolver resolver_;
  ByteBudget budget_;
  WaitingRoom waiting_;
  DnsService dns_;
  PipePool pipes_{*poller_};
  std::set<Place> resolvers_;
  std::map<Place, Opened*> places_;
  std::vector<std::unique_ptr<Opened>> opened_;
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t last_ = 0;
  bool is_paused_ = false;
  std::optional<Clock::time_point> retry_;
};

Result<void> NetworkGuard::State::open_resolver(const Address& address, Protocol protocol) {
  const Place place{address, kDnsPort, protocol};
  if (resolvers_.contains(place)) return {};
  const bool by_stream = protocol == Protocol::Tcp;
  UniqueFd socket = TRY((by_stream ? tcp_ : udp_).bind(address, kDnsPort, by_stream));
  if (by_stream)
    dns_.serve_streams(std::move(socket));
  else
    dns_.serve_datagrams(std::move(socket));
  resolvers_.insert(place);
  return {};
}

Result<void> NetworkGuard::State::open_first_resolvers() {
  for (const Protocol protocol : {Protocol::Udp, Protocol::Tcp}) {
    TRY(open_resolver(kLoopback, protocol));
    // Who asks there gets it on demand, too, if there is a socket then.
    const SocketPool& pool = protocol == Protocol::Tcp ? tcp_ : udp_;
    if (pool.size() > 1) (void)open_resolver(kLoopback6, protocol).has_value();
  }
  return {};
}

NetworkGuard::Answer NetworkGuard::State::prepare(const Address& given, std::uint16_t port,
                                                  Protocol protocol) {
  const Address address = as_destination(given);
  Target target{.name = {}, .address = address, .port = port, .protocol = protocol, .rule = {}};
  if (const std::string* name = resolver_.name_of(address)) target.name = *name;
  // glibc asks the kernel for a route by connecting to port 0.
  const std::optional<std::uint16_t> asked = port == 0 ? std::nullopt : std::optional(port);
  const HostRule* rule = target.name.empty() ? rule_for_address(options_.policy, address, asked)
                                             : rule_for_name(options_.policy, target.name, asked);
  // Who reads /etc/hosts asks no nameserver, and names the address that we would dial.
  if (options_.shows_host_file && rule == nullptr && target.name.empty() && !is_loopback(address)) {
    for (const auto& [name, addresses] : lookup_.hosts()) {
      if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) continue;
      rule = rule_for_name(options_.policy, name, asked);
      if (rule == nullptr) continue;
      target.name = name;
      break;
    }
  }
  // The guard is every nameserver, unless a rule names one as such.
  if (port == kDnsPort && (rule == nullptr || rule->port != kDnsPort)) {
    const Result<void> opened = open_resolver(address, protocol);
    Answer answer{.allowed = true, .rule = std::string(kResolver), .name = {}, .detail = {}};
    return opened ? answer : refused(std::move(answer), opened.error());
  }
  if (rule == nullptr) {
    const bool is_own = is_loopback(address);
    return {.allowed = is_own,
            .rule = is_own ? std::string(kOwnLoopback) : std::string(),
            .name = target.name,
            .detail = {}};
  }
  target.rule = to_string(*rule);
  Answer answer{.allowed = true, .rule = target.rule, .name = target.name, .detail = {}};
  return port == 0 ? answer : open_target(std::move(target), std::move(answer));
}

NetworkGuard::Answer NetworkGuard::State::open_target(Target target, Answer answer) {
  const Place place{target.address, target.port, target.protocol};
  if (places_.contains(place)) return answer;
  auto opened = std::make_unique<Opened>();
  opened->target = std::move(target);
  if (const Result<void> result = open(*opened); !result)
    return refused(std::move(answer), result.error());
  places_[place] = opened.get();
  opened_.push_back(std::move(opened));
  return answer;
}

Result<void> NetworkGuard::State::open(Opened& opened) {
  const Target& target = opened.target;
  if (target.protocol == Protocol::Tcp) {
    opened.listener = TRY(tcp_.bind(target.address, target.port, true));
    opened.watch = poller_->watch(opened.listener.get(), is_paused_ ? 0U : EPOLLIN,
                                  [this, &opened](std::uint32_t) { accept_from(opened); });
    return {};
  }
  UniqueFd socket = TRY(udp_.bind(target.address, target.port, false));
  opened.datagrams = std::make_unique<DatagramRelay>(
      *poller_, budget_, waiting_, std::move(socket), target.port, most_flows_,
      DatagramRelay::Callbacks{
          .find_route =
              [this, &target](std::function<void(Route)> done) {
                find_route(options_.policy, lookup_, target, std::move(done));
              },
          .on_reached =
              [this, &opened](const SocketAddress& client, Verdict verdict,
                              const std::string& problem, const std::optional<Address>& outside) {
                tell(reach_event(opened.target, verdict, problem, outside),
                     who_came(opened, client));
              }});
  return {};
}

void NetworkGuard::State::accept_from(Opened& opened) {
  while (connections_.size() < options_.most_connections) {
    SocketAddress from;
    from.size = sizeof from.storage;
    errno = EMFILE;
    UniqueFd client;
    if (poller_->has_room())
      client = UniqueFd(::accept4(opened.listener.get(), reinterpret_cast<sockaddr*>(&from.storage),
                                  &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.is_open()) {
      start(opened, std::move(client), from);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      retry_ = Clock::now() + kRetry;
      pause(true);
    }
    return;
  }
  pause(true);
}

void NetworkGuard::State::pause(bool is_full) {
  if (is_full == is_paused_) return;
  is_paused_ = is_full;
  for (const auto& opened : opened_)
    if (opened->listener.is_open()) opened->watch.change(is_full ? 0U : EPOLLIN);
}

Who NetworkGuard::State::who_came(Opened& opened, const SocketAddress& from) const {
  Who who;
  if (options_.find_who) {
    Arrival arrival = arrival_of(opened.target.protocol, from);
    arrival.to = opened.target.address;
    arrival.to_port = opened.target.port;
    who = options_.find_who(arrival);
  }
  if (!opened.who)
    opened.who = who;
  else if (*opened.who != who)
    opened.who = Who{};
  return who;
}

void NetworkGuard::State::tell_reach(Connection& connection, Verdict verdict,
                                     const std::string& problem,
                                     const std::optional<Address>& outside) const {
  if (std::exchange(connection.is_told, true)) return;
  tell(reach_event(connection.opened->target, verdict, problem, outside), connection.who);
}

void NetworkGuard::State::start(Opened& opened, UniqueFd client, const SocketAddress& from) {
  const std::uint64_t id = ++last_;
  ++opened.connections;
  auto relay = std::make_unique<Relay>(
      *poller_, pipes_, budget_, std::move(client),
      Relay::Callbacks{.on_connected =
                           [this, id](const Address& address) {
                             tell_reach(connections_.at(id), Verdict::Allow, {}, address);
                           },
                       .on_end = [this, id](const std::string& problem) { ended(id, problem); }});
  Relay& dialler = *relay;
  connections_[id] = {.opened = &opened, .relay = std::move(relay), .who = who_came(opened, from)};
  find_route(options_.policy, lookup_, opened.target, [this, id, &dialler](Route route) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    const Target& target = found->second.opened->target;
    if (!route.addresses.empty()) return dialler.dial(std::move(route.addresses), target.port);
    tell_reach(found->second, route.verdict, route.problem, route.refused);
    dialler.refuse({});
  });
}

void NetworkGuard::State::ended(std::uint64_t id, const std::string& problem) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Opened& opened = *found->second.opened;
  if (found->second.is_told && opened.problem.empty()) opened.problem = problem;
  if (!problem.empty()) tell_reach(found->second, Verdict::Allow, problem, {});
  const std::shared_ptr<Relay> relay = std::move(found->second.relay);
  connections_.erase(found);
  opened.sent += relay->sent();
  opened.received += relay->received();
  poller_->later([relay] {});  // it is on the stack
  if (!retry_) pause(false);
}

// Of all connections together: when each of them is over depends on the other side.
void NetworkGuard::State::tell_traffic(Opened& opened) const {
  std::array<std::uint64_t, 2> moved = {opened.sent, opened.received};
  if (opened.datagrams) moved = {opened.datagrams->sent(), opened.datagrams->received()};
  const std::array<std::uint64_t, 2> before = std::exchange(opened.told, moved);
  if (moved == before && opened.problem.empty()) return;
  const Who who = opened.who.value_or(Who{});
  for (std::size_t way = 0; way < moved.size(); ++way) {
    Event event =
        traffic_event(opened.target, way == 0 ? "sent" : "received", moved[way] - before[way]);
    event.detail = opened.problem;
    tell(std::move(event), who);
  }
  opened.problem.clear();
}

void NetworkGuard::State::serve() {
  poller_->serve();
  const Clock::time_point now = Clock::now();
  const std::optional<Clock::time_point> first = due();
  if (first && now >= *first) {
    lookup_.on_time(now);
    dns_.on_time(now);
    for (const auto& opened : opened_)
      if (opened->datagrams) opened->datagrams->on_time(now);
    std::vector<std::uint64_t> ids;
    for (const auto& [id, connection] : connections_) ids.push_back(id);
    for (const std::uint64_t id : ids)
      if (const auto found = connections_.find(id); found != connections_.end())
        found->second.relay->on_time(now);
    if (retry_ && now >= *retry_) {
      retry_.reset();
      pause(false);
    }
  }
  poller_->do_later();
}

std::optional<Clock::time_point> NetworkGuard::State::due() const {
  std::optional<Clock::time_point> first = retry_;
  take_earlier(first, lookup_.due());
  take_earlier(first, dns_.due());
  for (const auto& opened : opened_)
    if (opened->datagrams) take_earlier(first, opened->datagrams->due());
  for (const auto& [id, connection] : connections_) take_earlier(first, connection.relay->due());
  return first;
}

std::vector<NetworkGuard::Destination> NetworkGuard::State::traffic() const {
  std::vector<Destination> result;
  std::map<const Opened*, std::size_t> index;
  for (const auto& opened : opened_) {
    const Target& target = opened->target;
    Destination destination{.host = host_of(target),
                            .port = target.port,
                            .protocol = target.protocol,
                            .connections = opened->connections,
                            .sent = opened->sent,
                            .received = opened->received};
    if (const DatagramRelay* datagrams = opened->datagrams.get()) {
      destination.connections = datagrams->flows();
      destination.sent = datagrams->sent();
      destination.received = datagrams->received();
    }
    if (destination.connections == 0) continue;
    index[opened.get()] = result.size();
    result.push_back(std::move(destination));
  }
  for (const auto& [id, connection] : connections_) {
    Destination& destination = result[index.at(connection.opened)];
    destination.sent += connection.relay->sent();
    destination.received += connection.relay->received();
  }
  return result;
}

void NetworkGuard::State::hear_out(Clock::time_point latest) {
  dns_.hear_out();
  for (pollfd more = {.fd = descriptor(), .events = POLLIN, .revents = 0};
       ::poll(&more, 1, 0) > 0 && Clock::now() < latest;)
    serve();
  dns_.tell_of_rest();
}

void NetworkGuard::State::finish() {
  resolver_.finish();
  while (!connections_.empty()) connections_.begin()->second.relay->refuse({});
  for (const auto& opened : opened_)
    if (opened->datagrams) opened->datagrams->end_all();
  for (const auto& opened : opened_) tell_traffic(*opened);
  poller_->do_later();
  pipes_ = PipePool(*poller_);
}

Result<NetworkGuard> NetworkGuard::make(Options options, Sockets sockets) {
  std::unique_ptr<Poller> poller = TRY(Poller::make());
  auto state = std::make_unique<State>(std::move(options), std::move(sockets), std::move(poller));
  TRY(state->open_first_resolvers());
  return NetworkGuard(std::move(state));
}

NetworkGuard::NetworkGuard(std::unique_ptr<State> state) : state_(std::move(state)) {}
NetworkGuard::NetworkGuard(NetworkGuard&&) noexcept = default;
NetworkGuard& NetworkGuard::operator=(NetworkGuard&&) noexcept = default;
NetworkGuard::~NetworkGuard() = default;

int NetworkGuard::descriptor() const { return state_->descriptor(); }
std::optional<NetworkGuard::Clock::time_point> NetworkGuard::due() const { return state_->due(); }
void NetworkGuard::serve() { state_->serve(); }
NetworkGuard::Answer NetworkGuard::prepare(const Address& address, std::uint16_t port,
                                           Protocol protocol) {
  return state_->prepare(address, port, protocol);
}
std::vector<NetworkGuard::Destination> NetworkGuard::traffic() const { return state_->traffic(); }
std::uint64_t NetworkGuard::bytes() const { return state_->bytes(); }
void NetworkGuard::hear_out(Clock::time_point latest) { state_->hear_out(latest); }
void NetworkGuard::finish() { state_->finish(); }

}  // namespace hermetic
