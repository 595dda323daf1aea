#include "hermetic/backends/linux/spy_image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

// HERMETIC_SPY_PATH is the shared object that the build has just linked.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "hermetic_spy_image: .incbin \"" HERMETIC_SPY_PATH
    "\"\n"
    "hermetic_spy_image_end: .byte 0\n"
    ".popsection\n");
extern "C" const std::byte hermetic_spy_image[];      // NOLINT(readability-identifier-naming)
extern "C" const std::byte hermetic_spy_image_end[];  // NOLINT(readability-identifier-naming)

namespace hermetic::linux_backend {

Result<UniqueFd> make_spy_image() {
  UniqueFd file(::memfd_create("hermetic-spy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return system_error("cannot make a file in memory for the spy", errno);
  const auto size = static_cast<std::size_t>(hermetic_spy_image_end - hermetic_spy_image);
  const ssize_t written = ::write(file.get(), hermetic_spy_image, size);
  if (written < 0 || static_cast<std::size_t>(written) != size)
    return system_error("cannot write the spy into memory", written < 0 ? errno : ENOSPC);
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
    return system_error("cannot seal the spy", errno);
  return file;
}

}  // namespace hermetic::linux_backend
