#include "hermetic/backends/linux/peer_checks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostPending = 256;
constexpr std::chrono::milliseconds kFirst{1};
constexpr std::chrono::milliseconds kLongest{64};
// That long no call computes without an end.
constexpr std::chrono::seconds kComputing{1};

enum class Doing { Connects, Computes, Other };

// The first word of /proc/N/syscall: the number of the call that it sleeps in, or "running".
Doing what_does(pid_t thread) {
  const UniqueFd file(
      ::open(fmt::format("/proc/{}/syscall", thread).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> block;
  const ssize_t size = file.is_open() ? ::read(file.get(), block.data(), block.size()) : 0;
  const std::string_view text(block.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (text.starts_with("running")) return Doing::Computes;
  long number = -1;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number == SYS_connect ? Doing::Connects : Doing::Other;
}

// Nothing as long as it is not connected; 0: a process that cannot be seen from here.
std::optional<pid_t> listener_behind(int socket) {
  sockaddr_un name = {};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return std::nullopt;
  ucred who = {};
  socklen_t who_size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &who_size) != 0) return 0;
  return who.pid;
}

std::string name_behind(int socket) {
  sockaddr_un name = {};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
      size <= offsetof(sockaddr_un, sun_path))
    return "";
  const std::size_t most = size - offsetof(sockaddr_un, sun_path);
  return {name.sun_path, ::strnlen(name.sun_path, most)};
}

}  // namespace

void PeerChecks::expect(Expected expected, ProcessReader& processes) {
  // Elision makes a copy that cannot be moved.
  std::unique_ptr<ProcessReader::Copy> socket(
      new ProcessReader::Copy(processes.descriptor_of(expected.thread, expected.descriptor)));
  if (!socket->is_open()) return;  // the call will fail, too
  const Clock::time_point now = Clock::now();
  if (pending_.size() >= kMostPending) {
    for (Violation& violation : look(now)) early_.push_back(std::move(violation));
    // A command that has so many wait at once may want one to be lost from sight.
    if (pending_.size() >= kMostPending) {
      early_.push_back({.act = "connect",
                        .subject = "more Unix sockets at once than can be watched",
                        .detail = expected.who,
                        .rule = std::string(kUnixSocketsRule),
                        .remedy = "nothing: no spec allows it"});
      pending_.pop_front();
    }
  }
  pending_.push_back({.expected = std::move(expected),
                      .socket = std::move(socket),
                      .since = now,
                      .next = now + kFirst,
                      .pause = kFirst});
}

std::optional<PeerChecks::Clock::time_point> PeerChecks::due() const {
  if (!early_.empty()) return Clock::now();
  std::optional<Clock::time_point> first;
  for (const Pending& pending : pending_)
    if (!first || pending.next < *first) first = pending.next;
  return first;
}

// What it does is asked first: if the call is over by then, the socket will not change any more.
PeerChecks::State PeerChecks::state_of(const Pending& pending, Clock::time_point now) const {
  const Doing doing =
      now == Clock::time_point::max() ? Doing::Other : what_does(pending.expected.thread);
  const int socket = pending.socket->get();
  if (const std::optional<pid_t> listener = listener_behind(socket)) {
    if (is_inside_(*listener)) return State::Good;
    const std::string name = name_behind(socket);
    // The name that it was bound by, which may be short or lead through links.
    const bool same = last_component(name) == last_component(pending.expected.path);
    return pending.expected.is_allowed && same ? State::Good : State::Bad;
  }
  if (doing == Doing::Other) return State::Over;
  return doing == Doing::Computes && now - pending.since > kComputing ? State::Over
                                                                      : State::Waiting;
}

std::vector<Violation> PeerChecks::look(Clock::time_point now) {
  std::vector<Violation> violations = std::exchange(early_, {});
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (now < pending->next) {
      ++pending;
      continue;
    }
    const State state = state_of(*pending, now);
    if (state == State::Waiting) {
      pending->pause = std::min(pending->pause * 2, kLongest);
      pending->next = now + pending->pause;
      ++pending;
      continue;
    }
    if (state == State::Bad) {
      std::string path = name_behind(pending->socket->get());
      if (path.empty()) path = pending->expected.path;
      violations.push_back({.act = "connect",
                            .subject = path,
                            .detail = pending->expected.who,
                            .rule = std::string(kUnixSocketsRule),
                            .reason = "its other end is outside the sandbox",
                            .remedy = "--allow-unix-socket with its whole path, or in a spec: "
                                      "unix_sockets"});
    }
    pending = pending_.erase(pending);
  }
  return violations;
}

}  // namespace hermetic::linux_backend
