#include "hermetic/backends/linux/network_observer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "hermetic/backends/linux/filter_program.h"
#include "hermetic/backends/linux/refused_calls.h"
#include "hermetic/backends/linux/socket_path.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/guard/dns_message.h"

namespace hermetic::linux_backend {
namespace {

using CallKind = NetworkCall::Kind;

constexpr std::uint16_t kNamePort = 53;
constexpr std::size_t kMostAsking = 1024;
// The C library asks at once; but a machine may be busy.
constexpr std::chrono::milliseconds kTimeToAsk{50};
constexpr int kTypeBits = 0xF;  // without SOCK_CLOEXEC and SOCK_NONBLOCK

int option_of(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

SocketKind kind_of(int socket) {
  const int family = option_of(socket, SO_DOMAIN);
  return {.is_internet = family == AF_INET || family == AF_INET6,
          .is_unix = family == AF_UNIX,
          .type = option_of(socket, SO_TYPE),
          .protocol = option_of(socket, SO_PROTOCOL)};
}

std::string protocol_name(int protocol, int type) {
  if (protocol == IPPROTO_TCP || (protocol == 0 && type == SOCK_STREAM)) return "tcp";
  if (protocol == IPPROTO_UDP || (protocol == 0 && type == SOCK_DGRAM)) return "udp";
  if (type == SOCK_RAW) return "raw";
  if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) return "icmp";
  return protocol == 0 ? "" : std::to_string(protocol);
}

// One side of a socket.
std::optional<SocketAddress> side_of(int socket, int (*ask)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage raw = {};
  socklen_t size = sizeof raw;
  if (ask(socket, reinterpret_cast<sockaddr*>(&raw), &size) != 0) return std::nullopt;
  const auto [address, port] = guard::place_in(raw);
  return SocketAddress{.family = raw.ss_family, .address = address, .port = port};
}

std::string subject_of(const Endpoint& endpoint) {
  const std::string host = !endpoint.name.empty() ? endpoint.name : endpoint.address;
  if (host.empty()) return endpoint.family;
  const bool brackets = endpoint.name.empty() && host.find(':') != std::string::npos;
  const std::string protocol = endpoint.protocol.empty() ? "" : "/" + endpoint.protocol;
  return brackets ? fmt::format("[{}]:{}{}", host, endpoint.port, protocol)
                  : fmt::format("{}:{}{}", host, endpoint.port, protocol);
}

guard::Protocol guard_protocol(int protocol) {
  return protocol == IPPROTO_UDP ? guard::Protocol::Udp : guard::Protocol::Tcp;
}

// By UDP-Lite, say, nobody can be reached whom the guard stands for: it listens for no such thing.
bool is_carried_by_guard(int protocol) {
  return protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
         protocol == IPPROTO_MPTCP;
}

// Networks that a build has no business with. The others are ways to talk to the kernel.
bool is_a_network(int family) { return family != AF_NETLINK && family != AF_ALG; }

}  // namespace

// Fills the event in.
NetworkObserver::Judgement NetworkObserver::judge(Event& event, const Attempt& attempt) const {
  using Mode = NetworkPolicy::Mode;
  event.endpoint = Endpoint{.family = family_name(attempt.to.family),
                            .protocol = protocol_name(attempt.protocol, 0),
                            .address = guard::address_text(attempt.to.address),
                            .port = attempt.to.port,
                            .name = attempt.name};
  event.rule = plan_.network_rule;
  const bool inbound = attempt.kind == CallKind::Bind || attempt.kind == CallKind::Accept;
  const bool asks = !attempt.name.empty();
  Judgement judgement;
  switch (plan_.network.mode) {
    case Mode::None: judgement.denied = !inbound; break;
    // Nobody inside can serve names: the port is for those who hold a capability.
    case Mode::Loopback:
      judgement.denied =
          !inbound && (asks || attempt.to.port == kNamePort || !attempt.to.is_loopback());
      break;
    case Mode::Hosts:
      if (inbound || attempt.kind == CallKind::Listen) break;  // of the sandbox's own
      judgement = ask_guard(event, attempt);
      break;
    case Mode::Host: break;
  }
  event.subject = asks ? attempt.name : subject_of(*event.endpoint);
  if (asks) event.act = "resolve";
  event.verdict = judgement.denied ? Verdict::Deny : Verdict::Allow;
  if (inbound) event.verdict = Verdict::None;  // they reach nobody
  return judgement;
}

// A listener is opened if the destination is allowed. Should the address be another by the time the
// kernel reads it, nobody listens there but for those who are allowed.
NetworkObserver::Judgement NetworkObserver::ask_guard(Event& event, const Attempt& attempt) const {
  if (guard_ == nullptr) return {.denied = true};
  const bool is_own = attempt.to.is_loopback() && attempt.to.port != kNamePort;
  if (!is_carried_by_guard(attempt.protocol) && !is_own) return {.denied = true};
  const NetworkGuard::Answer answer =
      guard_->prepare(attempt.to.address, attempt.to.port, guard_protocol(attempt.protocol));
  event.rule = plan_.rule_called(answer.rule);
  event.detail = answer.detail;
  if (attempt.name.empty()) event.endpoint->name = answer.name;
  // What becomes of a name is the guard's to decide and to tell, by whatever call it is asked.
  const bool asks_guard = !attempt.name.empty() && answer.rule == NetworkGuard::kResolver;
  return {.denied = !answer.allowed,
          .comes_to_guard = answer.allowed && answer.rule != NetworkGuard::kOwnLoopback,
          .is_told_by_guard = answer.allowed && asks_guard,
          .remedy = answer.remedy};
}

// Decided by the registers: nobody can change them while we think.
void NetworkObserver::hear_socket(const seccomp_notif& question, const NetworkCall& call,
                                  Heard& heard) const {
  const std::uint32_t answer = answer_of(filter_, question.data);
  const bool refused = (answer & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_ALLOW;
  if (refused) heard.answer = -static_cast<int>(answer & SECCOMP_RET_DATA);
  const bool ring = call.kind == CallKind::Ring;
  const int type = call.type & kTypeBits;
  Event event{.kind = Event::Kind::Network, .act = call.name};
  event.verdict = refused ? Verdict::Deny : Verdict::Allow;
  event.rule = refused ? "system-calls-filtered" : plan_.network_rule;
  if (!ring)
    event.endpoint = Endpoint{.family = family_name(call.family),
                              .protocol = protocol_name(call.protocol, type),
                              .address = "",
                              .port = 0,
                              .name = ""};
  event.subject = ring ? "io_uring" : event.endpoint->family;
  if (type == SOCK_RAW && !ring) event.subject += "/raw";
  // The kernel refuses it to who has no capabilities. Nobody may ping from a fresh network either
  // (net.ipv4.ping_group_range).
  const bool pings = type == SOCK_DGRAM && plan_.network.mode != NetworkPolicy::Mode::Host &&
                     ((call.family == AF_INET && call.protocol == IPPROTO_ICMP) ||
                      (call.family == AF_INET6 && call.protocol == IPPROTO_ICMPV6));
  const bool raw = !ring && !refused && ((type == SOCK_RAW && call.family != AF_NETLINK) || pings);
  if (raw && pings) event.subject += "/icmp";
  if (raw) event.verdict = Verdict::Deny;
  if (raw) event.rule = "no-new-privileges";
  if ((refused || raw) && !ring && is_a_network(call.family))
    heard.violations.push_back(
        {.act = call.name, .subject = event.subject, .detail = "", .rule = event.rule});
  heard.events.push_back(std::move(event));
}

// The kernel may be able to read what we cannot, so it does not get it: who passes a bad pointer is
// told the same.
void NetworkObserver::hear_hidden(const NetworkCall& call, const std::optional<SocketKind>& socket,
                                  Heard& heard) const {
  if (call.unreadable != EPERM) heard.answer = -EFAULT;
  // No namespace stands behind this one: what cannot be judged does not happen.
  const bool may_be_unix = !socket || socket->is_unix;
  if (may_be_unix && !heard.answer && plan_.network.mode != NetworkPolicy::Mode::Host)
    heard.answer = -EACCES;
  const bool inbound =
      call.kind == CallKind::Bind || plan_.network.mode == NetworkPolicy::Mode::Host;
  if (socket && !socket->is_internet) return;
  Event event{.kind = Event::Kind::Network, .act = call.name, .subject = "a hidden address"};
  event.verdict = heard.answer || !inbound ? Verdict::Deny : Verdict::None;
  event.rule = plan_.network_rule;
  if (std::find(heard.events.begin(), heard.events.end(), event) != heard.events.end()) return;
  if (!inbound)
    heard.violations.push_back(
        {.act = event.act, .subject = event.subject, .detail = "", .rule = event.rule});
  heard.events.push_back(std::move(event));
}

// Whoever listens there is in the view, outside, or nowhere.
void NetworkObserver::hear_path(const seccomp_notif& question, const NetworkCall& call, int type,
                                Heard& heard) {
  if (call.kind != CallKind::Connect && call.kind != CallKind::Send && call.kind != CallKind::Bind)
    return;
  const auto thread = static_cast<pid_t>(question.pid);
  UnixObserver::Heard found = unix_.hear(thread, call, call.address->path, type);
  if (found.answer) heard.answer = found.answer;
  if (found.violation) heard.violations.push_back(*std::move(found.violation));
  const bool watched = plan_.network.mode != NetworkPolicy::Mode::Host;
  if (found.peer && watched && call.kind == CallKind::Connect)
    heard.peer = PeerChecks::Expected{.thread = thread,
                                      .descriptor = call.descriptor,
                                      .path = *found.peer,
                                      .is_allowed = unix_.is_allowed(*found.peer)};
  if (found.event &&
      std::find(heard.events.begin(), heard.events.end(), *found.event) == heard.events.end())
    heard.events.push_back(*std::move(found.event));
}

void NetworkObserver::hear_listen(const seccomp_notif& question, const NetworkCall& call,
                                  ProcessReader& processes, Heard& heard) {
  const auto thread = static_cast<pid_t>(question.pid);
  const auto socket = processes.descriptor_of(thread, call.descriptor);
  if (!socket.is_open() || option_of(socket.get(), SO_DOMAIN) != AF_UNIX) return;
  if (const auto who = processes.caller(thread); !who.empty()) unix_.note_listener(who.front().pid);
  sockaddr_un name = {};
  socklen_t size = sizeof name;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
      size <= offsetof(sockaddr_un, sun_path))
    return;
  const std::string path(name.sun_path,
                         ::strnlen(name.sun_path, size - offsetof(sockaddr_un, sun_path)));
  UnixObserver::Heard found = unix_.hear_listen(thread, call, path);
  if (found.violation) heard.violations.push_back(*std::move(found.violation));
  if (found.event) heard.events.push_back(*std::move(found.event));
}

namespace {

std::optional<SocketKind> kind_of_socket(const seccomp_notif& question, const NetworkCall& call,
                                         ProcessReader& processes) {
  const auto socket = processes.descriptor_of(static_cast<pid_t>(question.pid), call.descriptor);
  return socket.is_open() ? std::optional(kind_of(socket.get())) : std::nullopt;
}

}  // namespace

// What the call is about to do, unless it is nothing new.
std::optional<NetworkObserver::Attempt> NetworkObserver::attempt_of(
    const seccomp_notif& question, const NetworkCall& call, std::optional<SocketAddress> address,
    ProcessReader& processes) const {
  const std::string name = call.kind == CallKind::Send ? name_asked_for(call.payload) : "";
  // To where the socket is connected to, which was heard of. Only a question for a name is news.
  const bool connected = call.kind == CallKind::Send && !address;
  if (connected && name.empty()) return std::nullopt;
  std::optional<SocketKind> kind;
  if (address) {
    kind = kind_of_socket(question, call, processes);
  } else if (const auto socket =
                 processes.descriptor_of(static_cast<pid_t>(question.pid), call.descriptor);
             socket.is_open()) {
    kind = kind_of(socket.get());
    address = side_of(socket.get(), connected ? ::getpeername : ::getsockname);
  }
  if (address && !address->is_internet()) return std::nullopt;
  const bool pretended = connected && !address && kind && kind->protocol == IPPROTO_UDP &&
                         asking_.contains(Asker(question.pid, call.descriptor));
  if (!address && !pretended) return std::nullopt;

  Attempt attempt{.kind = call.kind,
                  .to = address.value_or(SocketAddress{.family = AF_INET, .port = kNamePort}),
                  .protocol = kind ? kind->protocol : 0,
                  .name = name,
                  .pretended = pretended};
  if (attempt.to.port != kNamePort) attempt.name.clear();
  if (connected && attempt.name.empty()) return std::nullopt;
  return attempt;
}

void NetworkObserver::hear_call(const seccomp_notif& question, const NetworkCall& call,
                                ProcessReader& processes, Heard& heard) {
  if (call.unreadable != 0)
    return hear_hidden(call, kind_of_socket(question, call, processes), heard);
  std::optional<SocketAddress> address = call.address;
  if (address && address->family == AF_UNSPEC) {
    if (call.kind != CallKind::Send) return;  // ends a connection
    address->family = AF_INET;
  }
  if (address && !address->is_internet()) {
    // Of another kind: not a way out, unless it changes before the kernel reads it. So a socket
    // that could go there hears from us what it would hear from the kernel.
    const auto kind = kind_of_socket(question, call, processes);
    if (kind && kind->is_internet) heard.answer = -EAFNOSUPPORT;
    if (!heard.answer && !address->path.empty())
      hear_path(question, call, kind ? kind->type : 0, heard);
    return;
  }
  if (call.kind == CallKind::Listen) hear_listen(question, call, processes, heard);
  const std::optional<Attempt> attempt = attempt_of(question, call, address, processes);
  if (!attempt) return;
  Event event{.kind = Event::Kind::Network, .act = call.name};
  const Judgement judgement = judge(event, *attempt);
  if (judgement.comes_to_guard)
    heard.caller = NetworkCaller{.thread = static_cast<pid_t>(question.pid),
                                 .descriptor = call.descriptor,
                                 .protocol = guard_protocol(attempt->protocol),
                                 .to = guard::as_destination(attempt->to.address),
                                 .port = attempt->to.port,
                                 .name = guard::lower_case(attempt->name)};
  if (judgement.is_told_by_guard) return;
  const Violation violation{.act = event.act,
                            .subject = event.subject,
                            .detail = "",
                            .rule = event.rule,
                            .reason = event.detail,
                            .remedy = judgement.remedy};
  if (std::find(heard.events.begin(), heard.events.end(), event) == heard.events.end())
    heard.events.push_back(std::move(event));
  if (judgement.denied)
    hear_denied(Asker(question.pid, call.descriptor), *attempt, violation, heard);
}

void NetworkObserver::expect_name(const Asker& asker, const Violation& violation, Heard& heard) {
  // Another one by the same number: the one before has said nothing, and will not any more.
  if (const auto before = asking_.find(asker); before != asking_.end() && !before->second.is_told)
    heard.violations.push_back(before->second.violation);
  asking_.insert_or_assign(asker, Asking{.violation = violation, .due = Clock::now() + kTimeToAsk});
  heard.asker = asker;
  if (asking_.size() <= kMostAsking) return;
  auto other = asking_.begin();
  if (other->first == asker) ++other;
  if (!other->second.is_told) heard.violations.push_back(other->second.violation);
  asking_.erase(other);
}

void NetworkObserver::hear_denied(const Asker& asker, const Attempt& attempt,
                                  const Violation& violation, Heard& heard) {
  const bool datagrams = attempt.protocol == IPPROTO_UDP;
  if (attempt.kind == CallKind::Connect && datagrams && attempt.to.port == kNamePort) {
    // What it asks for comes with the next call, if this one does not fail. Nothing is sent: the
    // socket has nowhere to send to.
    expect_name(asker, violation, heard);
    heard.answer = 0;
    return;
  }
  if (attempt.pretended) {
    heard.answer = -ENETUNREACH;
    asking_[asker].is_told = true;  // and kept: it may ask for another name
  }
  // A listener that nobody can reach: told so at once, and not left waiting.
  if (attempt.kind == CallKind::Listen) heard.answer = -EADDRNOTAVAIL;
  // A datagram socket is connected to see which way a packet would take, and getaddrinfo() does
  // that for every "localhost".
  if (datagrams && attempt.kind == CallKind::Connect && attempt.to.is_loopback()) return;
  heard.violations.push_back(violation);
}

NetworkObserver::Heard NetworkObserver::hear(const seccomp_notif& question,
                                             ProcessReader& processes) {
  Heard heard;
  for (const NetworkCall& call : read_network_calls(question)) {
    if (call.kind == CallKind::Socket || call.kind == CallKind::Ring)
      hear_socket(question, call, heard);
    else
      hear_call(question, call, processes, heard);
  }
  if (question.data.args[5] == key_) {  // answered like any other, and nobody's affair
    heard.events.clear();
    heard.violations.clear();
    heard.asker.reset();
    heard.caller.reset();
    asking_.clear();
  }
  return heard;
}

void NetworkObserver::credit(const Asker& asker, std::string who) {
  if (const auto found = asking_.find(asker); found != asking_.end())
    found->second.violation.detail = std::move(who);
}

std::optional<NetworkObserver::Clock::time_point> NetworkObserver::due() const {
  std::optional<Clock::time_point> first;
  for (const auto& [asker, asking] : asking_)
    if (!asking.is_told && (!first || asking.due < *first)) first = asking.due;
  return first;
}

std::vector<Violation> NetworkObserver::overdue(Clock::time_point now) {
  std::vector<Violation> violations;
  for (auto& [asker, asking] : asking_) {
    if (asking.is_told || now < asking.due) continue;
    asking.is_told = true;  // and kept: a name that it says later is told, too
    violations.push_back(asking.violation);
  }
  return violations;
}

namespace {

sock_filter load(std::size_t place) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(place));
}
sock_filter answer(unsigned value) { return BPF_STMT(BPF_RET | BPF_K, value); }
sock_filter if_equal(unsigned value, unsigned char yes, unsigned char no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

constexpr std::size_t kNumber = offsetof(seccomp_data, nr);
std::size_t low_half(std::size_t argument) {
  return offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t);
}
std::size_t high_half(std::size_t argument) { return low_half(argument) + sizeof(std::uint32_t); }

// For this call, what `block` answers; it answers in every case.
void add_block(std::vector<sock_filter>& program, int call, const std::vector<sock_filter>& block) {
  program.push_back(
      if_equal(static_cast<unsigned>(call), 0, static_cast<unsigned char>(block.size())));
  program.insert(program.end(), block.begin(), block.end());
}

// Allows if the argument is this number, asks otherwise.
std::vector<sock_filter> allow_if(std::size_t argument, std::uint64_t number) {
  return {load(low_half(argument)),       if_equal(static_cast<std::uint32_t>(number), 0, 2),
          load(high_half(argument)),      if_equal(static_cast<std::uint32_t>(number >> 32U), 1, 0),
          answer(SECCOMP_RET_USER_NOTIF), answer(SECCOMP_RET_ALLOW)};
}

// sendto() with an address, or of as many bytes as a question for a name has (RFC 1035).
std::vector<sock_filter> ask_about_questions() {
  constexpr unsigned kShortest = 17;
  constexpr unsigned kLongest = 512;
  return {load(low_half(4)),
          if_equal(0, 0, 7),
          load(high_half(4)),
          if_equal(0, 0, 5),
          load(high_half(2)),
          if_equal(0, 0, 4),
          load(low_half(2)),
          BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kShortest, 0, 2),
          BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLongest, 1, 0),
          answer(SECCOMP_RET_USER_NOTIF),
          answer(SECCOMP_RET_ALLOW)};
}

// socket(), of whose arguments the kernel takes 32 bits each.
std::vector<sock_filter> ask_about_sockets() {
  return {load(low_half(0)), if_equal(AF_UNIX, 0, 1), answer(SECCOMP_RET_ALLOW),
          answer(SECCOMP_RET_USER_NOTIF)};
}

// The same, but for those that can only become TCP or UDP.
std::vector<sock_filter> ask_about_odd_sockets() {
  return {load(low_half(0)),
          if_equal(AF_UNIX, 11, 0),
          if_equal(AF_INET, 1, 0),
          if_equal(AF_INET6, 0, 8),
          load(low_half(1)),
          BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kTypeBits),
          if_equal(SOCK_STREAM, 1, 0),
          if_equal(SOCK_DGRAM, 0, 4),
          load(low_half(2)),
          if_equal(0, 3, 0),
          if_equal(IPPROTO_TCP, 2, 0),
          if_equal(IPPROTO_UDP, 1, 0),
          answer(SECCOMP_RET_USER_NOTIF),
          answer(SECCOMP_RET_ALLOW)};
}

}  // namespace

std::vector<sock_filter> network_observer_filter(std::uint64_t key, bool sockets, bool questions) {
  std::vector<sock_filter> program = {load(kNumber)};
  for (const int call :
       {SYS_connect, SYS_bind, SYS_listen, SYS_accept4, SYS_sendmmsg, SYS_io_uring_setup,
#ifdef SYS_accept
        SYS_accept
#endif
       })
    add_block(program, call, {answer(SECCOMP_RET_USER_NOTIF)});
  add_block(program, SYS_socket, sockets ? ask_about_sockets() : ask_about_odd_sockets());
  // Without an address it goes where the socket is connected to, which was asked about.
  add_block(program, SYS_sendto, questions ? ask_about_questions() : allow_if(4, 0));
  add_block(program, SYS_sendmsg, allow_if(5, key));
  program.push_back(answer(SECCOMP_RET_ALLOW));
  return program;
}

std::vector<sock_filter> exempt_from(const std::vector<sock_filter>& filter,
                                     const std::vector<unsigned>& refused) {
  std::vector<sock_filter> program = exempt_refused_calls(refused);
  for (const int call : {SYS_socket, SYS_io_uring_setup})
    add_block(program, call, {answer(SECCOMP_RET_ALLOW)});
  program.insert(program.end(), filter.begin(), filter.end());
  return program;
}

}  // namespace hermetic::linux_backend
