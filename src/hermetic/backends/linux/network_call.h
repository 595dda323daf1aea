// What a network system call asks for, read from the registers and the memory of the process that
// waits for it. Nothing here is to be trusted: another thread can change the memory at any time.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/guard/address.h"

namespace hermetic::linux_backend {

struct SocketAddress {
  int family = 0;
  Address address = {};
  std::uint16_t port = 0;
  std::string path = {};  // of a socket that has a name among the files

  [[nodiscard]] bool is_internet() const;
  // Also the unspecified address, which the kernel takes for it.
  [[nodiscard]] bool is_loopback() const;
};

struct NetworkCall {
  enum class Kind { Socket, Connect, Bind, Listen, Accept, Send, Ring };

  Kind kind = Kind::Socket;
  std::string name;     // "connect", "sendmmsg"…
  int descriptor = -1;  // of the socket; not of Socket and Ring
  std::optional<SocketAddress> address;
  // Why there is no address although the call has one: EFAULT, or EPERM if we may not look. The
  // kernel reads some memory that others cannot, such as what is mapped for writing only.
  int unreadable = 0;
  std::string payload;  // of Send: how it begins

  // Of Socket: in the registers, where nobody can change them.
  int family = 0;
  int type = 0;
  int protocol = 0;
};

// Empty if it is no network call. sendmmsg() is one for each of its messages.
[[nodiscard]] std::vector<NetworkCall> read_network_calls(const seccomp_notif& question);

// "inet", "vsock"… or the number.
[[nodiscard]] std::string family_name(int family);

// What is asked of a name server: the name in the first question; "" if this is no such message.
[[nodiscard]] std::string name_asked_for(const std::string& payload);

}  // namespace hermetic::linux_backend
