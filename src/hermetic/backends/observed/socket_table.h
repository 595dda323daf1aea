// The sockets of this network namespace, as the kernel lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic::observed {

struct SocketEntry {
  std::uint64_t inode = 0;
  std::string protocol;  // "tcp", "udp"
  std::string family;    // "inet", "inet6"
  bool listens = false;
  std::string own_address;
  std::uint16_t own_port = 0;
  std::string peer_address;
  std::uint16_t peer_port = 0;  // 0: there is none
};

// By netlink (sock_diag): all of TCP and UDP, version 4 and 6.
[[nodiscard]] Result<std::vector<SocketEntry>> socket_table();

}  // namespace hermetic::observed
