#include "hermetic/guard/dns_exchange.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hermetic/guard/dns_message.h"

namespace hermetic::guard {
namespace {

constexpr std::uint16_t kPort = 53;
constexpr int kMostAnswers = 32;  // read per wake-up; a flood waits

SocketAddress address_of(const Nameserver& server) {
  SocketAddress address = socket_address(server.address, kPort);
  if (is_ipv4(server.address) || server.interface.empty()) return address;
  sockaddr_in6 form = {};
  std::memcpy(&form, &address.storage, sizeof form);
  form.sin6_scope_id = ::if_nametoindex(server.interface.c_str());
  std::memcpy(&address.storage, &form, sizeof form);
  return address;
}

}  // namespace

DnsExchange::DnsExchange(Poller& poller, const ResolverSettings& settings, DnsQuestion question,
                         Done done)
    : poller_(poller),
      settings_(settings),
      question_(std::move(question)),
      done_(std::move(done)) {}

std::optional<Clock::time_point> DnsExchange::due() const {
  if (step_ == Step::Idle || step_ == Step::Done) return {};
  return deadline_;
}

void DnsExchange::on_time(Clock::time_point now) {
  if (due() && now >= deadline_) ask_next();
}

const Nameserver& DnsExchange::server() const {
  return settings_.nameservers[(tries_ - 1) % settings_.nameservers.size()];
}

void DnsExchange::ask_next() {
  while (tries_ < settings_.attempts * settings_.nameservers.size()) {
    ++tries_;
    if (ask_by_datagram()) return;
  }
  finish({});
}

bool DnsExchange::open(int type) {
  watch_ = {};
  socket_.reset();
  if (!poller_.has_room()) return false;
  socket_ = UniqueFd(::socket(is_ipv4(server().address) ? AF_INET : AF_INET6,
                              type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.is_open()) return false;
  const SocketAddress address = address_of(server());
  return ::connect(socket_.get(), address.get(), address.size) == 0 || errno == EINPROGRESS;
}

bool DnsExchange::ask_by_datagram() {
  if (::getrandom(&id_, sizeof id_, 0) != sizeof id_ || !open(SOCK_DGRAM)) return false;
  DnsMessage message;
  message.id = id_;
  message.recursion_desired = true;
  message.questions.push_back(question_);
  message.largest_datagram = kLargestDatagram;
  out_ = build_dns_message(message);
  if (::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL) < 0) return false;
  step_ = Step::Datagram;
  deadline_ = Clock::now() + settings_.timeout;
  watch_ = poller_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_datagram(); });
  return true;
}

bool DnsExchange::ask_by_stream() {
  if (!open(SOCK_STREAM)) return false;
  const std::size_t size = out_.size();
  out_.insert(out_.begin(),
              {static_cast<std::uint8_t>(size >> 8U), static_cast<std::uint8_t>(size)});
  step_ = Step::Connecting;
  deadline_ = Clock::now() + settings_.timeout;
  watch_ = poller_.watch(socket_.get(), EPOLLOUT, [this](std::uint32_t) { on_stream(); });
  return true;
}

void DnsExchange::on_datagram() {
  std::array<std::uint8_t, 65536> buffer;  // NOLINT(*-member-init): written before it is read
  for (int i = 0; i < kMostAnswers && step_ == Step::Datagram; ++i) {
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return ask_next();  // nobody listens there
    take(std::span(buffer).first(static_cast<std::size_t>(count)), false);
  }
}

void DnsExchange::on_stream() {
  while (step_ != Step::Done) {
    errno = 0;
    if (stream_step()) continue;
    if (errno != EAGAIN && errno != EINTR) ask_next();
    return;
  }
}

// False with EAGAIN: more will come. False with anything else: this server has failed.
bool DnsExchange::stream_step() {
  if (step_ == Step::Connecting || step_ == Step::Writing) {
    const ssize_t count = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0) return false;
    out_.erase(out_.begin(), out_.begin() + count);
    step_ = Step::Writing;
    if (!out_.empty()) return true;
    step_ = Step::ReadingSize;
    in_.clear();
    wanted_ = 2;
    watch_.change(EPOLLIN);
  }
  const std::size_t had = in_.size();
  in_.resize(wanted_);
  const ssize_t count = ::recv(socket_.get(), in_.data() + had, wanted_ - had, 0);
  const int error = errno;
  in_.resize(had + (count > 0 ? static_cast<std::size_t>(count) : 0));
  errno = count == 0 ? ECONNRESET : error;
  if (count <= 0) return false;
  if (in_.size() < wanted_) return true;
  if (step_ == Step::ReadingSize) {
    wanted_ = std::size_t{in_[0]} << 8U | in_[1];
    in_.clear();
    step_ = Step::ReadingMessage;
    errno = EBADMSG;
    return wanted_ != 0;
  }
  const Bytes message = std::exchange(in_, {});
  take(message, true);
  errno = EAGAIN;  // take() has gone on or finished
  return step_ == Step::Done;
}

bool DnsExchange::is_answer(const DnsMessage& message) const {
  return message.is_response && message.id == id_ && message.operation == 0 &&
         message.questions.size() == 1 &&
         lower_case(message.questions[0].name) == lower_case(question_.name) &&
         message.questions[0].type == question_.type &&
         message.questions[0].record_class == question_.record_class;
}

void DnsExchange::take(std::span<const std::uint8_t> bytes, bool by_stream) {
  std::optional<DnsMessage> message = parse_dns_message(bytes);
  if (!message || !is_answer(*message)) {
    if (by_stream) ask_next();
    return;  // a datagram may be somebody else's attempt: the true answer can still come
  }
  if (message->is_truncated && !by_stream) {
    if (!ask_by_stream()) ask_next();
    return;
  }
  const bool is_final =
      message->code == ResponseCode::NoError || message->code == ResponseCode::NoSuchName;
  if (is_final && !message->is_truncated)
    finish(std::move(message));
  else
    ask_next();
}

void DnsExchange::finish(std::optional<DnsMessage> message) {
  if (step_ == Step::Done) return;
  step_ = Step::Done;
  watch_ = {};
  socket_.reset();
  done_(std::move(message));
}

}  // namespace hermetic::guard
