// The steps that put a temp together from the layers that it starts as.
#pragma once

#include <functional>
#include <string>

#include "hermetic/backends/linux/lower.h"

namespace hermetic::linux_backend {

// Mounts at `target`, with as many layers as show. `place` is a directory of the sandbox in which
// mount points can be made; none of them stays. `memory` are the options of the tmpfs that takes
// changes nobody keeps. `prepare` may add steps that make something in the directory of the
// changes.
void add_layer_steps(LoweredScript& script, const ViewEntry& temp, const char* target,
                     const std::string& place, const std::string& memory, const Facts& facts,
                     const std::function<void(const std::string& upper)>& prepare = {});

}  // namespace hermetic::linux_backend
