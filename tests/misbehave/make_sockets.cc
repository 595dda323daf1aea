// Makes a socket of every family, type and protocol, and prints those that could be made.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kFamilies = 48;  // 46 is the last that there is today
constexpr int kTypes = 16;
// The small numbers, DCCP, ICMPv6, L2TP, SCTP, UDP-Lite, the last byte, SMC, MPTCP and beyond.
constexpr int kProtocols[] = {0,  1,  2,   3,   4,   6,   9,   12,  15,  16,  17,
                              33, 58, 115, 132, 136, 255, 256, 257, 262, 263, -1};

}  // namespace

int main() {
  for (int family = 0; family < kFamilies; ++family)
    for (int type = 0; type < kTypes; ++type)
      for (const int protocol : kProtocols) {
        const int made = ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
        if (made < 0) continue;
        std::printf("%d %d %d\n", family, type, protocol);
        ::close(made);
      }
  return 0;
}
