#include "hermetic/backends/linux/capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "hermetic/backends/linux/launch.h"

namespace hermetic::linux_backend {

Result<UniqueFd> Capture::open() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  pipe = UniqueFd(ends[0]);
  const UniqueFd low(ends[1]);
  return raise(low.get());
}

bool Capture::drain(std::size_t cap) {
  std::array<char, 65536> block;
  const ssize_t size = ::read(pipe.get(), block.data(), block.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (size <= 0) {
    pipe.reset();
    return false;
  }
  const std::size_t room = cap - std::min(cap, kept.text.size());
  const std::size_t taken = std::min(room, static_cast<std::size_t>(size));
  kept.text.append(block.data(), taken);
  kept.truncated = kept.truncated || taken < static_cast<std::size_t>(size);
  return true;
}

void Capture::drain_rest(std::size_t cap) {
  if (!pipe.is_open()) return;
  (void)::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  while (drain(cap)) {
  }
  pipe.reset();
}

}  // namespace hermetic::linux_backend
