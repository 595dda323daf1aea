#include "hermetic/backends/linux/terminal_relay.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostPending = 4096;
constexpr char kEndOfInput = 4;  // Ctrl-D, what a terminal says instead of an end of file

}  // namespace

TerminalRelay::TerminalRelay(UniqueFd terminal, int input, int output)
    : terminal_(std::move(terminal)), input_(input), output_(output) {
  // A command that does not read must not keep us from showing what it writes.
  (void)::fcntl(terminal_.get(), F_SETFL, ::fcntl(terminal_.get(), F_GETFL) | O_NONBLOCK);
  copy_size();
}

void TerminalRelay::watch(std::vector<pollfd>& watched) const {
  const bool room = pending_.size() < kMostPending;
  watched.push_back({.fd = room ? input_ : -1, .events = POLLIN, .revents = 0});
  const auto wanted = static_cast<short>(pending_.empty() ? POLLIN : POLLIN | POLLOUT);
  watched.push_back({.fd = terminal_.get(), .events = wanted, .revents = 0});
}

void TerminalRelay::serve(std::span<const pollfd> watched) {
  if (watched[0].revents != 0) read_input();
  if ((watched[1].revents & POLLOUT) != 0) write_pending();
  if ((watched[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_terminal())
    // Nobody inside has the terminal open just now; look again when there is other news.
    if ((watched[1].revents & POLLIN) == 0) ::usleep(1000);
}

void TerminalRelay::copy_size() {
  winsize size = {};
  if (::ioctl(input_, TIOCGWINSZ, &size) == 0) (void)::ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

void TerminalRelay::drain() {
  while (read_terminal()) {
  }
}

void TerminalRelay::read_input() {
  std::array<char, kMostPending> block;
  const ssize_t size = ::read(input_, block.data(), block.size());
  if (size < 0) return;
  if (size == 0) {
    pending_ += kEndOfInput;
    input_ = -1;
  }
  pending_.append(block.data(), static_cast<std::size_t>(size));
  write_pending();
}

void TerminalRelay::write_pending() {
  const ssize_t written = ::write(terminal_.get(), pending_.data(), pending_.size());
  if (written > 0) pending_.erase(0, static_cast<std::size_t>(written));
}

bool TerminalRelay::read_terminal() {
  std::array<char, 65536> block;
  const ssize_t size = ::read(terminal_.get(), block.data(), block.size());
  if (size <= 0) return false;
  for (ssize_t done = 0; done < size;) {
    const ssize_t written =
        ::write(output_, block.data() + done, static_cast<std::size_t>(size - done));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return true;  // nobody looks any more
    if (written > 0) done += written;
  }
  return true;
}

}  // namespace hermetic::linux_backend
