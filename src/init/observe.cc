#include "init/observe.h"

#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/seccomp.h>

#include "hermetic/backends/linux/init_protocol.h"
#include "init/system_calls.h"

namespace hermetic::init {
namespace {

using linux_backend::InitReport;
using linux_backend::kInitSocket;

// What sendmsg(2) takes, without a C library to say so.
struct Vector {
  void* base;
  std::size_t size;
};
struct Message {
  void* name = nullptr;
  std::uint32_t name_size = 0;
  Vector* vectors = nullptr;
  std::size_t vector_count = 0;
  void* control = nullptr;
  std::size_t control_size = 0;
  std::uint32_t flags = 0;
};
struct PassedDescriptor {
  std::size_t size = sizeof(std::size_t) + 3 * sizeof(std::int32_t);
  std::int32_t level = 1;  // SOL_SOCKET
  std::int32_t type = 1;   // SCM_RIGHTS
  std::int32_t descriptor = -1;
  std::int32_t padding = 0;
};

}  // namespace

long observe(const sock_fprog& filter, long key) {
  // Once heard, a call waits for its answer whatever signals come: it would be asked about again.
  constexpr long kWaitForAnswer = 1 << 5;  // since Linux 5.19
  long listener = call(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
                       SECCOMP_FILTER_FLAG_NEW_LISTENER | kWaitForAnswer, address(&filter));
  if (listener == -EINVAL)
    listener = call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                    address(&filter));
  if (listener < 0) return listener;
  InitReport report{.kind = InitReport::Kind::Observer};
  Vector data = {&report, sizeof report};
  PassedDescriptor passed;
  passed.descriptor = static_cast<std::int32_t>(listener);
  const Message message{
      .vectors = &data, .vector_count = 1, .control = &passed, .control_size = sizeof passed};
  const long sent =
      call(__NR_sendmsg, kInitSocket, address(&message), 0x4000 /* MSG_NOSIGNAL */, 0, 0, key);
  call(__NR_close, listener);
  return sent;
}

}  // namespace hermetic::init
