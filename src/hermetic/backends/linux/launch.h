// launch(): from a lowered script to a running pid 1.
#pragma once

#include <sys/types.h>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/network_guard.h"

namespace hermetic::linux_backend {

// A copy that is numbered above the descriptors that the child arranges.
[[nodiscard]] Result<UniqueFd> raise(int descriptor);

// The socket between hermetic and init.
struct Channel {
  UniqueFd ours;
  UniqueFd theirs;  // numbered above the descriptors that the child arranges
};
[[nodiscard]] Result<Channel> make_channel();

// What Step::Kind::PassSockets has sent: nothing if the script failed before.
[[nodiscard]] NetworkGuard::Sockets receive_guard_sockets(int socket);

struct Launched {
  UniqueFd pidfd;   // of init
  UniqueFd socket;  // to init
  pid_t init = 0;   // its number here
};

// Starts the namespaces and the script. Returns as soon as init runs or the script has failed: the
// first InitReport on the socket says which. `network` false means the caller's own network.
enum class NetworkNamespace { Own, Callers };
[[nodiscard]] Result<Launched> launch(const LoweredScript& script, int init, Channel channel,
                                      NetworkNamespace network);

}  // namespace hermetic::linux_backend
