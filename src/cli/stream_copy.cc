#include "cli/stream_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "hermetic/base/quiet_thread.h"

namespace hermetic::cli {

Result<std::unique_ptr<StreamCopy>> StreamCopy::make(int destination, std::size_t most) {
  std::unique_ptr<StreamCopy> copy(new StreamCopy(destination, most));
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  copy->reader_ = UniqueFd(ends[0]);
  copy->writer_ = UniqueFd(ends[1]);
  copy->stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!copy->stop_.is_open()) return system_error("cannot make an eventfd", errno);
  if (::fcntl(copy->reader_.get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error("cannot prepare a pipe", errno);
  // Signals are for the thread that waits for the command, and a closed pipe is an error code.
  copy->thread_ = start_quiet_thread([raw = copy.get()] { raw->copy(); });
  if (!copy->thread_.joinable()) return system_error("cannot start a thread", EAGAIN);
  return copy;
}

StreamCopy::~StreamCopy() { (void)finish(); }

bool StreamCopy::pass_on(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(destination_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd ready{.fd = destination_, .events = POLLOUT, .revents = 0};
      (void)::poll(&ready, 1, -1);
      continue;
    }
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void StreamCopy::copy() {
  std::array<char, 65536> block;
  bool stopping = false;
  for (;;) {
    const ssize_t size = ::read(reader_.get(), block.data(), block.size());
    if (size == 0) return;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno != EAGAIN || stopping)) return;
    if (size < 0) {
      std::array<pollfd, 2> ready = {{{.fd = reader_.get(), .events = POLLIN, .revents = 0},
                                      {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
      (void)::poll(ready.data(), ready.size(), -1);
      stopping = ready[1].revents != 0;  // and once more, for what came before
      continue;
    }
    const auto amount = static_cast<std::size_t>(size);
    const std::size_t room = std::min(amount, most_ - kept_.size());
    kept_.append(block.data(), room);
    dropped_ += amount - room;
    // As without a copy: who writes to a pipe that nobody reads gets SIGPIPE.
    if (!pass_on({block.data(), amount})) return reader_.reset();
  }
}

std::string StreamCopy::finish() {
  if (!thread_.joinable()) return {};
  writer_.reset();
  (void)::eventfd_write(stop_.get(), 1);
  thread_.join();
  if (dropped_ != 0) kept_ += fmt::format("\n[hermetic: {} more bytes were not kept]\n", dropped_);
  return std::move(kept_);
}

}  // namespace hermetic::cli
