#include "cli/console.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "cli/exit_code.h"
#include "hermetic/base/output_relay.h"

namespace hermetic::cli {
namespace {

using Clock = RelayThread::Clock;

constexpr std::chrono::milliseconds kMostPatience{60'000};  // then it looks at the clock again

// None: as long as they like.
std::optional<Clock::time_point> patient_until;

int milliseconds_of_patience() {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(*patient_until - Clock::now());
  return static_cast<int>(std::clamp(left, kRelayPatience, kMostPatience).count());
}

bool write_in_time(int descriptor, std::string_view text) {
  auto relay = OutputRelay::make(descriptor, {});
  if (!relay || !(*relay)->start()) return false;
  const int writer = (*relay)->writer();
  (void)::fcntl(writer, F_SETFL, O_NONBLOCK);
  while (!text.empty()) {
    pollfd room{.fd = writer, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, milliseconds_of_patience()) != 1 && Clock::now() >= *patient_until) break;
    const ssize_t written = ::write(writer, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) break;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  const OutputRelay::Carried carried = (*relay)->finish(*patient_until);
  errno = carried.os_error != 0 ? carried.os_error : ETIMEDOUT;
  return text.empty() && carried.whole && carried.os_error == 0;
}

bool write_all(int descriptor, std::string_view text) {
  if (patient_until) return write_in_time(descriptor, text);
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  const std::string message =
      std::string("hermetic: cannot write to standard output: ") + std::strerror(errno) + "\n";
  (void)write_all(STDERR_FILENO, message);
  std::_Exit(kFailed);
}

void wait_for_readers_until(RelayThread::Clock::time_point time) { patient_until = time; }

bool complain(const Error& error) {
  return write_all(STDERR_FILENO, "hermetic: " + to_string(error) + "\n");
}

int report(const Error& error) {
  complain(error);
  return error.kind == Error::Kind::InvalidSpec ? kBadUsage : kFailed;
}

Color color_for(std::string_view choice, int descriptor) {
  if (choice == "always") return Color::Always;
  if (choice == "never") return Color::Never;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool plain = (no_color != nullptr && *no_color != '\0') || term == nullptr ||
                     std::string_view(term) == "dumb";
  return !plain && ::isatty(descriptor) == 1 ? Color::Always : Color::Never;
}

}  // namespace hermetic::cli
