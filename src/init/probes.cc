#include "init/probes.h"

#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/poll.h>
#include <linux/time_types.h>

#include "hermetic/backends/linux/init_protocol.h"
#include "init/system_calls.h"

namespace hermetic::init {
namespace {

using linux_backend::Probe;

constexpr long kInternet = 2;        // AF_INET
constexpr long kInternet6 = 10;      // AF_INET6
constexpr long kVsock = 40;          // AF_VSOCK
constexpr long kStream = 1;          // SOCK_STREAM
constexpr long kDatagram = 2;        // SOCK_DGRAM
constexpr long kNonblocking = 2048;  // SOCK_NONBLOCK
constexpr std::size_t kAddress6Bytes = 28;

// As the kernel reads them, in the order of the network.
struct Address {
  std::uint16_t family = kInternet;
  std::uint8_t port[2] = {};
  std::uint8_t host[4] = {};
  std::uint8_t zero[8] = {};
};

// For documentation, RFC 5737 and RFC 3849: nobody has them.
constexpr Address kNobody = {.port = {0, 80}, .host = {192, 0, 2, 1}};
constexpr Address kNobodysDatagrams = {.port = {0, 9}, .host = {192, 0, 2, 1}};
constexpr Address kNameServer = {.port = {0, 53}, .host = {127, 0, 0, 1}};
constexpr std::uint8_t kNobody6[kAddress6Bytes] = {
    kInternet6, 0, 0, 80, 0, 0, 0, 0, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
// Where is KEY.hermetic-probe.invalid? The digits stand from kKeyPlace on.
constexpr std::size_t kKeyPlace = 13;
constexpr std::size_t kKeyDigits = 16;
constexpr std::uint8_t kQuestion[] = {
    0,   7,   1,   0,   0,   1,   0,   0,   0,   0,   0,   0,   16,  '0', '0', '0', '0', '0', '0',
    '0', '0', '0', '0', '0', '0', '0', '0', '0', '0', 14,  'h', 'e', 'r', 'm', 'e', 't', 'i', 'c',
    '-', 'p', 'r', 'o', 'b', 'e', 7,   'i', 'n', 'v', 'a', 'l', 'i', 'd', 0,   0,   1,   0,   1};

class Probes {
 public:
  explicit Probes(const ProbeTargets& targets) : targets_(targets) {}

  [[nodiscard]] bool succeeds(Probe probe) const {
    switch (probe) {
      case Probe::Tcp:
        return connects(kInternet, &kNobody, sizeof kNobody) ||
               connects(kInternet6, kNobody6, sizeof kNobody6);
      case Probe::Udp: return sends();
      case Probe::Dns: return resolves();
      case Probe::Ring: return opens_ring();
      case Probe::Vsock: return closes(marked(__NR_socket, kVsock, kStream, 0));
      case Probe::Listen: return listens();
      case Probe::Secret:
        return closes(call(__NR_openat, -100 /* AT_FDCWD */, address(targets_.secret), 0));
      case Probe::Input: return writes_input();
    }
    return true;
  }

 private:
  // With the key where the kernel looks at no argument.
  [[nodiscard]] long marked(long number, long a, long b, long c) const {
    return call(number, a, b, c, 0, 0, targets_.key);
  }

  static bool closes(long descriptor) {
    if (descriptor < 0) return false;
    call(__NR_close, descriptor);
    return true;
  }

  [[nodiscard]] bool connects(long family, const void* place, std::size_t size) const {
    const long socket = marked(__NR_socket, family, kStream | kNonblocking, 0);
    if (socket < 0) return false;
    const long result = marked(__NR_connect, socket, address(place), static_cast<long>(size));
    // Under way, but to somewhere here, where everything is refused at once? Silence is an answer,
    // too: somebody may have taken the packet.
    const bool refused = result == -EINPROGRESS ? was_refused(socket) : result < 0;
    call(__NR_close, socket);
    return !refused;
  }

  static bool was_refused(long socket) {
    pollfd watched = {.fd = static_cast<int>(socket), .events = POLLOUT, .revents = 0};
    const __kernel_timespec a_second = {.tv_sec = 1, .tv_nsec = 0};
    call(__NR_ppoll, address(&watched), 1, address(&a_second), 0, 8);
    int error = 0;
    int error_size = sizeof error;
    call(__NR_getsockopt, socket, 1 /* SOL_SOCKET */, 4 /* SO_ERROR */, address(&error),
         address(&error_size));
    return error != 0;
  }

  [[nodiscard]] long connected(const Address& place) const {
    const long socket = marked(__NR_socket, kInternet, kDatagram | kNonblocking, 0);
    if (socket < 0) return socket;
    if (const long result = marked(__NR_connect, socket, address(&place), sizeof place);
        result < 0) {
      call(__NR_close, socket);
      return result;
    }
    return socket;
  }

  // Where every address is local, the first goes nowhere and the second hears of it.
  [[nodiscard]] bool sends() const {
    const long socket = connected(kNobodysDatagrams);
    if (socket < 0) return false;
    const bool first = call(__NR_write, socket, address("x"), 1) == 1;
    const bool second = call(__NR_write, socket, address("x"), 1) == 1;
    call(__NR_close, socket);
    return first && second;
  }

  [[nodiscard]] bool resolves() const {
    const long socket = connected(kNameServer);
    if (socket < 0) return false;
    bool answered = false;
    std::uint8_t question[sizeof kQuestion];
    for (std::size_t i = 0; i < sizeof kQuestion; ++i) question[i] = kQuestion[i];
    auto key = static_cast<std::uint64_t>(targets_.key);
    for (std::size_t i = kKeyDigits; i-- > 0; key >>= 4U)
      question[kKeyPlace + i] = static_cast<std::uint8_t>("0123456789abcdef"[key & 0xFU]);
    if (call(__NR_write, socket, address(question), sizeof question) > 0) {
      pollfd watched = {.fd = static_cast<int>(socket), .events = POLLIN, .revents = 0};
      const __kernel_timespec while_longer = {.tv_sec = 0, .tv_nsec = 200'000'000};
      call(__NR_ppoll, address(&watched), 1, address(&while_longer), 0, 8);
      std::uint8_t reply[512] = {};
      const long size = call(__NR_read, socket, address(reply), sizeof reply);
      answered = size >= 12 && (reply[3] & 0xF) == 0 && (reply[6] | reply[7]) != 0;
    }
    call(__NR_close, socket);
    return answered;
  }

  [[nodiscard]] bool opens_ring() const {
    char parameters[256] = {};
    return closes(marked(__NR_io_uring_setup, 1, address(parameters), 0));
  }

  [[nodiscard]] bool listens() const {
    const long socket = marked(__NR_socket, kInternet, kStream, 0);
    if (socket < 0) return false;
    const long result = marked(__NR_listen, socket, 1, 0);
    call(__NR_close, socket);
    return result == 0;
  }

  // That of the secret, which is random: making what is there already fails wherever it is.
  [[nodiscard]] const char* fresh_name() const {
    const char* name = targets_.secret;
    for (const char* at = name; *at != '\0'; ++at)
      if (*at == '/') name = at + 1;
    return *name != '\0' ? name : ".hermetic-probe";
  }

  [[nodiscard]] bool writes_input() const {
    constexpr long kMakeNew = 0301;  // O_WRONLY | O_CREAT | O_EXCL
    const long directory =
        call(__NR_openat, -100 /* AT_FDCWD */, address(targets_.input), 02200000 /* O_PATH… */);
    if (directory < 0) return false;
    const char* name = fresh_name();
    const long file = call(__NR_openat, directory, address(name), kMakeNew, 0600);
    if (file >= 0) call(__NR_unlinkat, directory, address(name), 0);
    // Only this says that it is read only, and it does so whoever asks: to be refused for want of
    // permission proves nothing. Who may not even look into it learns no more.
    const bool held = file == -EROFS || call(__NR_faccessat, directory, address("."), 1) < 0;
    call(__NR_close, directory);
    return closes(file) || !held;
  }

  const ProbeTargets& targets_;
};

}  // namespace

std::uint32_t run_probes(const ProbeTargets& targets) {
  const Probes probes(targets);
  std::uint32_t open = 0;
  for (std::uint32_t bit = 0; bit < linux_backend::kProbeCount; ++bit) {
    const std::uint32_t mask = 1U << bit;
    if ((targets.wanted & mask) != 0 && probes.succeeds(static_cast<Probe>(bit))) open |= mask;
  }
  return open;
}

}  // namespace hermetic::init
