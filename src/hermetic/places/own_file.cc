#include "hermetic/places/own_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "hermetic/base/entries.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr std::chrono::milliseconds kPatience{5000};  // with a reader that is slow to come or read

Error cannot_write(const OwnPlace& place, int os_error) {
  return system_error(fmt::format("cannot write '{}'", printable(place.path())), os_error);
}

Result<UniqueFd> open_stream(const OwnPlace& place) {
  if (place.handed_in() >= 0) {
    UniqueFd copy(::fcntl(place.handed_in(), F_DUPFD_CLOEXEC, 3));
    if (!copy.is_open()) return cannot_write(place, errno);
    return copy;
  }
  // Without O_NONBLOCK, a pipe that nobody reads would be waited for.
  UniqueFd file(::openat(place.directory(), std::string(place.name()).c_str(),
                         O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return cannot_write(place, errno);
  if (S_ISREG(status.st_mode)) return cannot_write(place, ESTALE);  // it was a stream
  return file;
}

Result<UniqueFd> wait_for_reader(const OwnPlace& place) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Result<UniqueFd> stream = open_stream(place);
    if (stream || stream.error().os_error != ENXIO) return stream;
    if (std::chrono::steady_clock::now() >= deadline) return stream;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<void> write_stream(const OwnPlace& place, std::string_view text) {
  const UniqueFd stream = TRY(wait_for_reader(place));
  while (!text.empty()) {
    pollfd ready = {.fd = stream.get(), .events = POLLOUT, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(kPatience.count()));
    if (count < 0 && errno != EINTR) return cannot_write(place, errno);
    if (count == 0) return cannot_write(place, ETIMEDOUT);
    // A descriptor that was handed in may wait: a pipe that is ready takes so much at once.
    const std::size_t size = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t written = write_without_signal(stream.get(), text.substr(0, size));
    if (written < 0 && errno != EINTR && errno != EAGAIN) return cannot_write(place, errno);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The very file that was found to be there. It is judged once more, because the command may have
// another name of it otherwise: it has one name only, and that was judged.
Result<UniqueFd> open_found(const OwnPlace& place, int flags) {
  UniqueFd file(::openat(place.directory(), std::string(place.name()).c_str(),
                         O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC | flags));
  struct stat status = {};
  struct stat found = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 ||
      ::fstatat(place.found().descriptor->get(), "", &found, AT_EMPTY_PATH) != 0)
    return cannot_write(place, errno);
  if (!S_ISREG(status.st_mode) || status.st_dev != found.st_dev || status.st_ino != found.st_ino)
    return cannot_write(place, ESTALE);
  if (status.st_nlink > 1)
    return system_error(
        fmt::format("cannot write '{}', which has other names", printable(place.path())), EMLINK,
        "name a file that does not exist, in a directory that can be written to");
  return file;
}

Result<UniqueFd> open_in_place(const OwnPlace& place) {
  UniqueFd file = TRY(open_found(place, 0));
  if (::ftruncate(file.get(), 0) != 0) return cannot_write(place, errno);
  return file;
}

bool cannot_be_replaced(int os_error) {
  return os_error == EACCES || os_error == EPERM || os_error == EROFS || os_error == EBUSY;
}

Result<void> write_to(const UniqueFd& file, const OwnPlace& place, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(place, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Result<void> write_own_file(const OwnPlace& place, std::string_view text) {
  if (place.holds() == OwnPlace::Holds::Stream) return write_stream(place, text);
  const Result<void> whole =
      write_file_in(place.directory(), std::string(place.name()), text, place.path());
  if (whole || !cannot_be_replaced(whole.error().os_error) ||
      place.holds() != OwnPlace::Holds::File)
    return whole;
  const UniqueFd file = TRY(open_in_place(place));
  return write_to(file, place, text);
}

Result<void> append_to_own_file(const OwnPlace& place, std::string_view text) {
  if (place.holds() == OwnPlace::Holds::Stream) return write_stream(place, text);
  if (place.holds() != OwnPlace::Holds::File) return write_own_file(place, text);
  const UniqueFd file = TRY(open_found(place, O_APPEND));
  return write_to(file, place, text);
}

Result<UniqueFd> open_own_file(const OwnPlace& place, mode_t mode) {
  if (place.holds() == OwnPlace::Holds::Stream) return open_stream(place);
  // A file that is there stays the same object: the command may have been shown it.
  if (place.holds() == OwnPlace::Holds::File)
    if (Result<UniqueFd> file = open_in_place(place); file) return file;
  Result<UniqueFd> file =
      make_file_in(place.directory(), std::string(place.name()), mode, place.path());
  if (file || !cannot_be_replaced(file.error().os_error) || place.holds() != OwnPlace::Holds::File)
    return file;
  return open_in_place(place);
}

}  // namespace hermetic
