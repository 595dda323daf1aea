// hermetic-init, carried inside the library, as a program that can be executed and not changed.
#pragma once

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

// A sealed file in memory: no path to look for at run time, and nothing inside can rewrite it
// through /proc/1/exe (CVE-2019-5736).
[[nodiscard]] Result<UniqueFd> make_init_image();

}  // namespace hermetic::linux_backend
