// The part of the script that makes the command's standard streams.
#pragma once

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

// Opens devices and terminals. Before Landlock, and on the sandbox's mounts, through which nobody
// changes a mode or an owner.
void add_opening_of_streams(LoweredScript& script, const Facts& facts);
// Gives them, and the descriptors that were handed in, their numbers.
void add_placing_of_streams(LoweredScript& script, const Facts& facts);

}  // namespace hermetic::linux_backend
