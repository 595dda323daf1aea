#include "hermetic/base/standard_descriptors.h"

#include <fcntl.h>

#include <array>

namespace hermetic {
namespace {

std::array<bool, 3> closed = {};

}  // namespace

bool open_standard_descriptors() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    if (::open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY) != number) return false;
    closed.at(static_cast<std::size_t>(number)) = true;
  }
  return true;
}

bool was_closed(int descriptor) {
  return descriptor >= 0 && descriptor <= 2 && closed.at(static_cast<std::size_t>(descriptor));
}

}  // namespace hermetic
