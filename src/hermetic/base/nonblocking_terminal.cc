#include "hermetic/base/nonblocking_terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace hermetic {

NonblockingTerminal::NonblockingTerminal(int descriptor) : callers_(descriptor) {
  if (descriptor < 0) return;
  const int flags = ::fcntl(descriptor, F_GETFL);
  const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
  own_ = UniqueFd(::open(name.c_str(), (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

template <class Call>
ssize_t NonblockingTerminal::without_waiting(Call call) const {
  if (own_.is_open()) return call(own_.get());
  const int flags = ::fcntl(callers_, F_GETFL);
  if (flags < 0) return -1;
  if ((flags & O_NONBLOCK) != 0) return call(callers_);
  (void)::fcntl(callers_, F_SETFL, flags | O_NONBLOCK);
  const ssize_t result = call(callers_);
  const int error = errno;
  (void)::fcntl(callers_, F_SETFL, flags);
  errno = error;
  return result;
}

ssize_t NonblockingTerminal::read(char* block, std::size_t size) const {
  return without_waiting([&](int descriptor) { return ::read(descriptor, block, size); });
}

ssize_t NonblockingTerminal::write(const char* text, std::size_t size) const {
  return without_waiting([&](int descriptor) { return ::write(descriptor, text, size); });
}

}  // namespace hermetic
