#include "hermetic/backends/linux/init_image.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstddef>

// HERMETIC_INIT_PATH is the program that the build has just linked.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    "hermetic_init_image: .incbin \"" HERMETIC_INIT_PATH
    "\"\n"
    "hermetic_init_image_end: .byte 0\n"
    ".popsection\n");
extern "C" const std::byte hermetic_init_image[];      // NOLINT(readability-identifier-naming)
extern "C" const std::byte hermetic_init_image_end[];  // NOLINT(readability-identifier-naming)

namespace hermetic::linux_backend {

Result<UniqueFd> make_init_image() {
  const UniqueFd file(::memfd_create("hermetic-init", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return system_error("cannot make a file in memory for init", errno);
  const auto size = static_cast<std::size_t>(hermetic_init_image_end - hermetic_init_image);
  const ssize_t written = ::write(file.get(), hermetic_init_image, size);
  if (written < 0 || static_cast<std::size_t>(written) != size)
    return system_error("cannot write init into memory", written < 0 ? errno : ENOSPC);
  // F_SEAL_FUTURE_WRITE and not F_SEAL_WRITE: the latter waits for every CPU, a third of a
  // millisecond, and nobody has mapped the file for writing yet. 5.1
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return system_error("cannot seal init", errno);
  // Above the descriptors that the child arranges for the command.
  UniqueFd high(::fcntl(file.get(), F_DUPFD_CLOEXEC, 10));
  if (!high.is_open()) return system_error("cannot keep init open", errno);
  return high;
}

}  // namespace hermetic::linux_backend
