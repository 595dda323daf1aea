// What lies behind a descriptor that is handed in as a standard stream, and so what the command may
// get of it.
#pragma once

#include <cstdint>
#include <string>

#include "hermetic/base/result.h"

namespace hermetic::linux_backend {

struct StreamKind {
  enum class Kind : std::uint8_t {
    Nothing,   // closed, or a terminal that is gone: as an empty device
    Bytes,     // a file, a pipe or a stream socket: by a relay
    Terminal,  // by a terminal of the sandbox's own
    Device,    // `device`, as the sandbox has it
  };
  Kind kind = Kind::Nothing;
  const char* device = nullptr;
  std::uint64_t object = 0;  // of a terminal: which it is
  bool readable = false;
  bool writable = false;
};

// Refuses what is no stream of bytes. `name` is "input", "output" or "error".
[[nodiscard]] Result<StreamKind> stream_kind(int descriptor, const char* name);

// Do both write to the same place, so that their order matters?
[[nodiscard]] bool is_same_stream(int a, int b);
// Are both the same open file, with one offset?
[[nodiscard]] bool is_same_open_file(int a, int b);

}  // namespace hermetic::linux_backend
