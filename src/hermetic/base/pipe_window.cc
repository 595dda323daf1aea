#include "hermetic/base/pipe_window.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace hermetic {
namespace {

constexpr std::size_t kSeenAtOnce = std::size_t{1} << 20U;
// How long it takes to notice, where the kernel does not tell, that something was read: at first,
// and at most. Only who looks into the source, and does not read it, could see a difference.
constexpr int kFirstLookForReading = 5;
constexpr int kLastLookForReading = 200;

bool watch(int changes, int pipe, std::uint32_t events) {
  epoll_event event = {.events = events | EPOLLET, .data = {.fd = pipe}};
  return ::epoll_ctl(changes, EPOLL_CTL_ADD, pipe, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<PipeWindow>> PipeWindow::make(int source, int reader, UniqueFd writer) {
  std::unique_ptr<PipeWindow> window(new PipeWindow);
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return system_error("cannot make a pipe", errno);
  window->seen_ = UniqueFd(ends[0]);
  window->seen_writer_ = UniqueFd(ends[1]);
  window->source_ = UniqueFd(::fcntl(source, F_DUPFD_CLOEXEC, 3));
  window->reader_ = UniqueFd(::fcntl(reader, F_DUPFD_CLOEXEC, 3));
  if (!window->source_.is_open() || !window->reader_.is_open())
    return system_error("cannot copy a descriptor", errno);
  window->writer_ = std::move(writer);
  // As large as the source: when that is full, ours is, and we are told when something was read.
  const int size = ::fcntl(source, F_GETPIPE_SZ);
  for (const int pipe : {window->writer_.get(), window->seen_writer_.get()})
    if (size > 0) (void)::fcntl(pipe, F_SETPIPE_SZ, size);
  window->nothing_ = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!window->nothing_.is_open()) return system_error("cannot open /dev/null", errno);
  window->changes_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!window->changes_.is_open() ||
      !watch(window->changes_.get(), window->source_.get(), EPOLLIN) ||
      !watch(window->changes_.get(), window->writer_.get(), EPOLLOUT))
    return system_error("cannot watch a pipe", errno);
  return window;
}

void PipeWindow::run(RelayThread::Control& control) {
  while (!control.is_ending()) {
    settle();
    const bool hung_up = has_hung_up();
    if (offer()) look_ = 0;
    if (hung_up && waiting_in(source_.get()) <= offered_) break;
    if (os_error_ != 0 || ended_) break;
    if (!wait(control) && !control.is_ending()) os_error_ = EIO;
  }
  changes_.reset();
  writer_.reset();  // the end of the input
}

void PipeWindow::settle() {
  // The command can write into what it reads; that takes nothing.
  const std::size_t left = std::min(waiting_in(reader_.get()), offered_);
  if (left == offered_ || os_error_ != 0) return;
  look_ = 0;
  // Less, if somebody else has read the source meanwhile.
  drop(source_.get(), offered_ - left);
  offered_ = left;
}

bool PipeWindow::has_hung_up() const {
  pollfd source{.fd = source_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&source, 1, 0) == 1 && (source.revents & POLLHUP) != 0;
}

// True: there was something new, and room for it.
bool PipeWindow::offer() {
  const std::size_t there = waiting_in(source_.get());
  if (os_error_ != 0 || (there != 0 && there <= offered_)) return false;
  const ssize_t seen = ::tee(source_.get(), seen_writer_.get(), kSeenAtOnce, SPLICE_F_NONBLOCK);
  if (seen < 0) {
    if (errno != EAGAIN && errno != EINTR) os_error_ = errno;
    return false;
  }
  ended_ = seen == 0 && offered_ == 0;  // empty, and nobody has it open to write
  const auto size = static_cast<std::size_t>(seen);
  std::size_t fresh = size - std::min(size, offered_);
  drop(seen_.get(), size - fresh);
  bool moved = false;
  while (fresh > 0) {
    const ssize_t taken =
        ::splice(seen_.get(), nullptr, writer_.get(), nullptr, fresh, SPLICE_F_NONBLOCK);
    if (taken <= 0) break;
    moved = true;
    offered_ += static_cast<std::size_t>(taken);
    fresh -= static_cast<std::size_t>(taken);
  }
  drop(seen_.get(), fresh);
  return moved;
}

bool PipeWindow::wait(RelayThread::Control& control) {
  int patience = -1;
  if (offered_ > 0) {
    look_ = std::clamp(look_ * 2, kFirstLookForReading, kLastLookForReading);
    patience = look_;
  }
  pollfd changed{.fd = changes_.get(), .events = POLLIN, .revents = 0};
  if (!control.wait(std::span(&changed, 1), patience)) return false;
  std::array<epoll_event, 2> ignored = {};
  (void)::epoll_wait(changes_.get(), ignored.data(), static_cast<int>(ignored.size()), 0);
  return true;
}

std::size_t PipeWindow::waiting_in(int pipe) {
  int bytes = 0;
  if (::ioctl(pipe, FIONREAD, &bytes) != 0) os_error_ = errno;
  return static_cast<std::size_t>(bytes);
}

void PipeWindow::drop(int pipe, std::size_t size) {
  while (size > 0) {
    const ssize_t taken = ::splice(pipe, nullptr, nothing_.get(), nullptr, size, SPLICE_F_NONBLOCK);
    if (taken < 0 && errno == EINTR) continue;
    if (taken <= 0) return;
    size -= static_cast<std::size_t>(taken);
  }
}

}  // namespace hermetic
