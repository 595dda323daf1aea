// SocketPool: unbound sockets of the sandbox's network namespace, bound one by one as they are
// needed. When the last one is needed, more are made.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/address.h"

namespace hermetic::guard {

class SocketPool {
 public:
  explicit SocketPool(std::vector<UniqueFd> sockets)
      : sockets_(std::move(sockets)), given_(sockets_.size()) {}

  [[nodiscard]] std::size_t size() const { return sockets_.size(); }
  [[nodiscard]] bool takes_ipv6() const;
  // A non-blocking socket at exactly this address, and listening if it is for connections. One that
  // cannot be bound stays in the pool.
  Result<UniqueFd> bind(const Address& address, std::uint16_t port, bool listening);

 private:
  void grow();

  std::vector<UniqueFd> sockets_;
  UniqueFd network_;  // their namespace, once more are needed
  int type_ = 0;
  std::size_t given_;
};

}  // namespace hermetic::guard
