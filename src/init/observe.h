// The filter that asks hermetic about system calls.
#pragma once

#include <linux/filter.h>

namespace hermetic::init {

// Installs it in this process, and hands its listener to hermetic, which answers. The key marks the
// call that does so: nobody can answer yet. Returns a negative errno on failure.
[[nodiscard]] long observe(const sock_fprog& filter, long key);

}  // namespace hermetic::init
