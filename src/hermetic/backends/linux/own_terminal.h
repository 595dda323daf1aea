// What the sandbox's own terminal starts as. Freestanding enough for the child, which makes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace hermetic::linux_backend {

// As TCGETS and TCSETS have it; that of the C library is another.
struct TerminalModes {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
  std::uint32_t control = 0;
  std::uint32_t local = 0;
  std::uint8_t discipline = 0;
  std::array<std::uint8_t, 19> keys = {};

  friend bool operator==(const TerminalModes&, const TerminalModes&) = default;
};
static_assert(sizeof(TerminalModes) == 36 && std::is_trivially_copyable_v<TerminalModes>);

struct WindowSize {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
};

struct OwnTerminal {
  unsigned places = 0;                 // bits: which standard streams it becomes
  std::optional<TerminalModes> modes;  // none: the usual ones
  WindowSize size;
};

}  // namespace hermetic::linux_backend
