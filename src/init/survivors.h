// Who is still there when the command is gone.
#pragma once

#include "hermetic/backends/linux/init_protocol.h"

namespace hermetic::init {

// Fills in how many there are, and the name of one. Waits a moment for those that are about to end
// by themselves, such as the reader of a pipe.
void count_survivors(linux_backend::InitReport& report);

}  // namespace hermetic::init
