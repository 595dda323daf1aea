// The Python environment of a task as a real directory of the host, for a caller who wants to run
// its interpreter.
#pragma once

#include <string>

#include "hermetic/base/result.h"

namespace hermetic::task {

enum class CallersNetwork {
  Closed,  // the interpreter is started in a network namespace of its own, without a way out
  Host,
};

// Makes `target` a Python environment that the caller can use, of the cached one at `environment`.
// The cached one was made to be used at `inside`. Does nothing if it is there.
[[nodiscard]] Result<void> show_environment(const std::string& environment,
                                            const std::string& inside, const std::string& target,
                                            CallersNetwork network);

}  // namespace hermetic::task
