// Kernel interfaces that are younger than Debian 12's headers, each with the version that brought
// it.
#pragma once

#include <sys/ioctl.h>

#include <cstdint>

namespace hermetic::linux_backend {

// mount_setattr(2), 5.12; open_tree(2), move_mount(2), 5.2.
struct MountAttributes {
  std::uint64_t set = 0;
  std::uint64_t clear = 0;
  std::uint64_t propagation = 0;
  std::uint64_t user_namespace = 0;
};
inline constexpr std::uint64_t kMountReadOnly = 0x1;
inline constexpr std::uint64_t kMountNoSetuid = 0x2;
inline constexpr std::uint64_t kMountNoDevices = 0x4;
inline constexpr std::uint64_t kMountNoExecute = 0x8;

// Landlock, landlock(7). Rights on files, by the ABI that brought them.
inline constexpr std::uint64_t kLandlockExecute = 1ULL << 0U;
inline constexpr std::uint64_t kLandlockWriteFile = 1ULL << 1U;
inline constexpr std::uint64_t kLandlockReadFile = 1ULL << 2U;
inline constexpr std::uint64_t kLandlockReadDirectory = 1ULL << 3U;
inline constexpr std::uint64_t kLandlockAbi1 = (1ULL << 13U) - 1;     // up to MAKE_SYM
inline constexpr std::uint64_t kLandlockRefer = 1ULL << 13U;          // ABI 2, 5.19
inline constexpr std::uint64_t kLandlockTruncate = 1ULL << 14U;       // ABI 3, 6.2
inline constexpr std::uint64_t kLandlockDeviceControl = 1ULL << 15U;  // ABI 5, 6.10
inline constexpr std::uint64_t kLandlockMakeCharacterDevice = 1ULL << 6U;
inline constexpr std::uint64_t kLandlockMakeBlockDevice = 1ULL << 11U;
inline constexpr std::uint64_t kLandlockScopeAbstractSocket = 1ULL << 0U;  // ABI 6, 6.12
inline constexpr std::uint64_t kLandlockScopeSignal = 1ULL << 1U;

struct LandlockRuleset {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;  // ABI 4
  std::uint64_t scoped = 0;              // ABI 6
};
struct [[gnu::packed]] LandlockPathBeneath {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};
inline constexpr unsigned kLandlockCreateVersion = 1U;

// Seccomp notifications, seccomp_unotify(2). The one who asks sleeps through all but fatal signals
// while it waits for its answer, 5.19.
inline constexpr unsigned kWaitKillable = 1U << 5U;
// The one who asks and the one who answers take turns on one processor, three times as fast, 6.6.
inline constexpr unsigned long kNotificationFlags = _IOW('!', 4, std::uint64_t);
inline constexpr std::uint64_t kTakeTurns = 1;

inline constexpr long kSysMountSetattr = 442;
inline constexpr long kSysOpenTree = 428;
inline constexpr long kSysMoveMount = 429;
inline constexpr long kSysCloseRange = 436;
inline constexpr long kSysLandlockCreateRuleset = 444;
inline constexpr long kSysLandlockAddRule = 445;
inline constexpr long kSysLandlockRestrictSelf = 446;

}  // namespace hermetic::linux_backend
