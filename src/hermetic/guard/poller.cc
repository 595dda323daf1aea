#include "hermetic/guard/poller.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hermetic::guard {

Poller::Watch::~Watch() {
  if (poller_ == nullptr) return;
  ::epoll_ctl(poller_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  poller_->handlers_.erase(id_);
}

void Poller::Watch::change(std::uint32_t events) {
  if (poller_ == nullptr) return;
  epoll_event event = {.events = events, .data = {.u64 = id_}};
  ::epoll_ctl(poller_->epoll_.get(), EPOLL_CTL_MOD, fd_, &event);
}

void Poller::Watch::swap(Watch& other) noexcept {
  std::swap(poller_, other.poller_);
  std::swap(fd_, other.fd_);
  std::swap(id_, other.id_);
}

Result<std::unique_ptr<Poller>> Poller::make() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) return system_error("cannot watch the sandbox's connections", errno);
  return std::unique_ptr<Poller>(new Poller(std::move(epoll)));
}

// The kernel gives out the lowest number that is free.
bool Poller::has_room() const {
  const UniqueFd next(::fcntl(epoll_.get(), F_DUPFD_CLOEXEC, 0));
  rlimit limit = {};
  if (!next.is_open() || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  return static_cast<rlim_t>(next.get()) < limit.rlim_cur - limit.rlim_cur / 4;
}

Poller::Watch Poller::watch(int fd, std::uint32_t events, Handler handler) {
  Watch watch;
  watch.poller_ = this;
  watch.fd_ = fd;
  watch.id_ = ++last_;
  handlers_[watch.id_] = std::make_shared<Handler>(std::move(handler));
  epoll_event event = {.events = events, .data = {.u64 = watch.id_}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) not_watched_.push_back(watch.id_);
  return watch;
}

void Poller::tell(std::uint64_t id, std::uint32_t events) {
  const auto found = handlers_.find(id);
  if (found == handlers_.end()) return;
  const std::shared_ptr<Handler> handler = found->second;  // it may remove itself
  (*handler)(events);
}

void Poller::do_later() {
  while (!later_.empty())
    for (const auto& act : std::exchange(later_, {})) act();
}

void Poller::serve() {
  constexpr int kRounds = 4;  // then whoever drives us gets a turn
  began_ = Clock::now();
  do_later();
  for (const std::uint64_t id : std::exchange(not_watched_, {})) tell(id, EPOLLERR);
  for (int round = 0; round < kRounds; ++round) {
    std::array<epoll_event, 64> events = {};
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      tell(event.data.u64, event.events);
    }
    do_later();
    if (count < static_cast<int>(events.size()) || is_late()) break;
  }
}

}  // namespace hermetic::guard
