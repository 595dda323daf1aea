#include "hermetic/guard/dns_service.h"

#include <fmt/format.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hermetic::guard {
namespace {

constexpr int kMostDatagrams = 64;  // per wake-up
constexpr std::size_t kMostStreams = 256;
// Programs that ask for many names at once do so by one socket, and do not wait in between: as much
// as the host gives. But the kernel's memory is nobody's, and a command can name as many
// nameservers as there are sockets.
constexpr int kLargeBuffer = 1 << 20;
constexpr int kSmallBuffer = 1 << 14;
constexpr std::size_t kMostLarge = 16;
constexpr std::chrono::seconds kIdle{20};
constexpr std::chrono::milliseconds kTryAgain{100};
constexpr std::size_t kSizeBytes = 2;  // before each message of a stream
constexpr int kMostSteps = 192;        // of a stream per turn: it takes three for a question
constexpr std::uint32_t kStreamEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

constexpr std::uint16_t kNamePort = 53;

Arrival question_from(Protocol protocol, const SocketAddress& client) {
  Arrival arrival = arrival_of(protocol, client);
  arrival.to_port = kNamePort;
  return arrival;
}

}  // namespace

void DnsService::serve_datagrams(UniqueFd socket) {
  auto shared = std::make_shared<Socket>();
  shared->fd = std::move(socket);
  const int buffer = sockets_.size() < kMostLarge ? kLargeBuffer : kSmallBuffer;
  (void)::setsockopt(shared->fd.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  const std::weak_ptr<Socket> weak = shared;
  shared->watch = poller_.watch(shared->fd.get(), EPOLLIN, [this, weak](std::uint32_t) {
    if (const auto held = weak.lock()) on_datagram(held);
  });
  sockets_.push_back(std::move(shared));
}

void DnsService::serve_streams(UniqueFd listener) {
  auto shared = std::make_shared<Socket>();
  shared->protocol = Protocol::Tcp;
  shared->fd = std::move(listener);
  Socket* plain = shared.get();
  shared->watch = poller_.watch(plain->fd.get(), EPOLLIN,
                                [this, plain](std::uint32_t) { on_connection(*plain); });
  sockets_.push_back(std::move(shared));
}

void DnsService::on_datagram(const std::shared_ptr<Socket>& socket) {
  std::array<std::uint8_t, 4096> query;  // NOLINT(*-member-init): written before it is read
  for (int i = 0; i < kMostDatagrams; ++i) {
    SocketAddress client;
    client.size = sizeof client.storage;
    const ssize_t count = ::recvfrom(socket->fd.get(), query.data(), query.size(), 0,
                                     reinterpret_cast<sockaddr*>(&client.storage), &client.size);
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) continue;  // an answer that nobody took
    if (!budget_.take(static_cast<std::size_t>(count))) continue;
    const std::weak_ptr<Socket> weak = socket;
    resolver_.answer(std::span(query).first(static_cast<std::size_t>(count)),
                     question_from(Protocol::Udp, client),
                     [this, weak, client](const Bytes& reply) {
                       const auto held = weak.lock();
                       if (!held || reply.empty() || !budget_.take(reply.size())) return;
                       ::sendto(held->fd.get(), reply.data(), reply.size(), MSG_NOSIGNAL,
                                client.get(), client.size);
                     });
    if (poller_.is_late()) break;
  }
  tell_of_drops(*socket);
}

// Whoever asks faster than we read loses questions, and the kernel counts them.
void DnsService::tell_of_drops(Socket& socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> counts = {};
  socklen_t size = sizeof counts;
  if (::getsockopt(socket.fd.get(), SOL_SOCKET, SO_MEMINFO, counts.data(), &size) != 0) return;
  const std::uint32_t drops = counts[SK_MEMINFO_DROPS];
  if (drops == std::exchange(socket.drops, drops)) return;
  const Arrival somebody{.protocol = Protocol::Udp, .to_port = kNamePort};
  resolver_.refuse(somebody, "",
                   fmt::format("{} questions in all came faster than they are read", drops));
}

void DnsService::on_connection(Socket& listener) {
  for (int i = 0; i < kMostDatagrams; ++i) {
    SocketAddress client;
    client.size = sizeof client.storage;
    errno = EMFILE;
    UniqueFd fd;
    if (poller_.has_room())
      fd = UniqueFd(::accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&client.storage),
                              &client.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.is_open()) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
      listener.watch.change(0);  // it would be told of the same connection again and again
      listener.retry = Clock::now() + kTryAgain;
      return;
    }
    if (streams_.size() >= kMostStreams) {
      resolver_.refuse(question_from(Protocol::Tcp, client), "",
                       "too many connections ask for names at once");
      continue;
    }
    const std::uint64_t id = ++last_;
    const auto stream = std::make_shared<Stream>();
    stream->fd = std::move(fd);
    stream->from = question_from(Protocol::Tcp, client);
    stream->deadline = Clock::now() + kIdle;
    stream->is_over = is_over_;
    streams_[id] = stream;
    stream->watch = poller_.watch(stream->fd.get(), kStreamEvents,
                                  [this, id](std::uint32_t) { on_stream(id); });
  }
}

void DnsService::on_stream(std::uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::shared_ptr<Stream> stream = found->second;
  if (!advance(id, *stream)) end(id);
}

bool DnsService::advance(std::uint64_t id, Stream& stream) {
  for (int step = 0; step < kMostSteps; ++step) {
    if (stream.is_over) {
      stream.out.clear();
      stream.is_waiting = false;
    }
    if (!stream.out.empty()) {
      const ssize_t count =
          ::send(stream.fd.get(), stream.out.data(), stream.out.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) return true;
      if (count < 0)
        stream.is_over = true;  // who does not take an answer may have asked for more by then
      else
        stream.out.erase(stream.out.begin(), stream.out.begin() + count);
      continue;
    }
    if (stream.is_waiting) return true;
    if (ask(id, stream)) {
      if (poller_.is_late()) break;
      continue;
    }
    std::array<std::uint8_t, 4096> buffer;  // NOLINT(*-member-init)
    const ssize_t count = ::recv(stream.fd.get(), buffer.data(), buffer.size(), 0);
    if (count < 0) return errno == EAGAIN && !stream.is_over;
    if (count == 0) return false;
    stream.in.insert(stream.in.end(), buffer.begin(), buffer.begin() + count);
    stream.deadline = Clock::now() + kIdle;
  }
  stream.watch.change(kStreamEvents);  // asked again, it is told again, after the others
  return true;
}

// Takes one whole message off what has come, if there is one. The rest waits in the kernel.
bool DnsService::ask(std::uint64_t id, Stream& stream) {
  if (stream.in.size() < kSizeBytes) return false;
  const std::size_t size = std::size_t{stream.in[0]} << 8U | stream.in[1];
  if (stream.in.size() < kSizeBytes + size) return false;
  const auto begin = stream.in.begin() + kSizeBytes;
  const Bytes query(begin, begin + static_cast<std::ptrdiff_t>(size));
  stream.in.erase(stream.in.begin(), begin + static_cast<std::ptrdiff_t>(size));
  stream.is_waiting = true;  // for good, if it is over the limit
  if (!budget_.take(query.size())) return true;
  // Its socket is asked once more when the answer is there, whoever that comes from.
  resolver_.answer(query, stream.from, [this, id](const Bytes& reply) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    Stream& asker = *found->second;
    asker.is_waiting = false;
    asker.watch.change(kStreamEvents);
    if (reply.empty() || !budget_.take(reply.size())) return;
    asker.out = {static_cast<std::uint8_t>(reply.size() >> 8U),
                 static_cast<std::uint8_t>(reply.size())};
    asker.out.insert(asker.out.end(), reply.begin(), reply.end());
  });
  return true;
}

void DnsService::end(std::uint64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (!found->second->in.empty())
    resolver_.refuse(found->second->from, "", "it was not asked to the end");
  poller_.later([stream = found->second] {});
  streams_.erase(found);
}

std::optional<Clock::time_point> DnsService::due() const {
  std::optional<Clock::time_point> first;
  for (const auto& [id, stream] : streams_)
    if (!first || stream->deadline < *first) first = stream->deadline;
  for (const auto& socket : sockets_)
    if (socket->retry && (!first || *socket->retry < *first)) first = socket->retry;
  return first;
}

void DnsService::on_time(Clock::time_point now) {
  for (auto at = streams_.begin(); at != streams_.end();) {
    const std::uint64_t id = at->first;
    const std::shared_ptr<Stream> stream = at->second;
    ++at;
    if (now < stream->deadline) continue;
    stream->is_over = true;
    on_stream(id);
  }
  for (const auto& socket : sockets_) {
    if (!socket->retry || now < *socket->retry) continue;
    socket->retry.reset();
    socket->watch.change(EPOLLIN);
  }
}

void DnsService::hear_out() {
  is_over_ = true;
  for (const auto& [id, stream] : streams_) {
    stream->is_over = true;
    stream->watch.change(kStreamEvents);
  }
  for (const auto& socket : sockets_)
    if (std::exchange(socket->retry, std::nullopt)) socket->watch.change(EPOLLIN);
}

void DnsService::tell_of_rest() {
  constexpr const char* kWhy = "the run was over before it was read";
  for (const auto& [id, stream] : streams_) {
    // Who has asked nothing, or was read to the end, is only still there.
    int unread = 0;
    const bool is_read = ::ioctl(stream->fd.get(), FIONREAD, &unread) == 0 && unread == 0;
    if (!is_read || !stream->in.empty()) resolver_.refuse(stream->from, "", kWhy);
  }
  for (const auto& socket : sockets_) {
    pollfd more = {.fd = socket->fd.get(), .events = POLLIN, .revents = 0};
    if (::poll(&more, 1, 0) <= 0 || (more.revents & POLLIN) == 0) continue;
    const Arrival somebody{.protocol = socket->protocol, .to_port = kNamePort};
    std::size_t unread = 0;  // nobody is left who could send more
    for (char byte = 0; socket->protocol == Protocol::Udp &&
                        ::recv(socket->fd.get(), &byte, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0;)
      ++unread;
    const std::string all = fmt::format("the run was over before {} of them were read", unread);
    resolver_.refuse(somebody, "", unread > 1 ? all : kWhy);
    if (unread > 0) tell_of_drops(*socket);
  }
}

}  // namespace hermetic::guard
