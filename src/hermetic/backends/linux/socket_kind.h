// What kind of socket a descriptor of another process is, without a copy of it.
//
// A copy would have to be closed, and who closes a socket last may wait for as long as the command
// likes.
#pragma once

#include <sys/types.h>

#include <optional>

namespace hermetic::linux_backend {

struct SocketKind {
  bool is_internet = false;
  int protocol = 0;  // IPPROTO_…; of the internet only

  friend bool operator==(const SocketKind&, const SocketKind&) = default;
};

// Nothing for what is no socket, or one whose kind its name does not tell. `thread` has to be one
// that waits for us: its number may be another's otherwise.
[[nodiscard]] std::optional<SocketKind> socket_kind(pid_t thread, int descriptor);

}  // namespace hermetic::linux_backend
