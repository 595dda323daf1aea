#include "hermetic/backends/linux/mirrored_modes.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace hermetic::linux_backend {
namespace {

constexpr std::uint32_t kOfLines = ICANON | ECHO | ISIG;

}  // namespace

std::optional<TerminalModes> modes_of(int terminal) {
  TerminalModes modes;
  if (terminal < 0 || ::ioctl(terminal, TCGETS, &modes) != 0) return std::nullopt;
  return modes;
}

WindowSize window_of(int terminal) {
  winsize size = {};
  if (terminal < 0 || ::ioctl(terminal, TIOCGWINSZ, &size) != 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

void set_window(int terminal, WindowSize size) {
  const winsize wanted = {
      .ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  (void)::ioctl(terminal, TIOCSWINSZ, &wanted);
}

MirroredModes::MirroredModes(int terminal, bool shared)
    : terminal_(terminal), before_(modes_of(terminal)) {
  if (!before_) return;
  first_ = *before_;
  if (shared && (first_.local & ICANON) == 0) {
    first_.local |= kOfLines | ECHOE | ECHOK | IEXTEN;
    first_.input |= ICRNL | IXON;
    first_.output |= OPOST | ONLCR;
  }
  wanted_ = applied_ = first_;
}

std::optional<TerminalModes> MirroredModes::first() const {
  if (!before_) return std::nullopt;
  TerminalModes modes = first_;
  modes.local |= EXTPROC;
  modes.output &= OPOST;
  return modes;
}

void MirroredModes::follow(int controller) {
  std::optional<TerminalModes> inside = modes_of(controller);
  if (!before_ || !inside) return;
  if ((inside->local & EXTPROC) == 0) {  // without it we would not be told again
    inside->local |= EXTPROC;
    (void)::ioctl(controller, TCSETS, &*inside);
  }
  wanted_ = first_;
  wanted_.input = inside->input;
  wanted_.local = (inside->local & ~std::uint32_t{EXTPROC}) | (first_.local & EXTPROC);
  if ((inside->output & OPOST) == 0) wanted_.output &= ~std::uint32_t{OPOST};
  wanted_.keys = inside->keys;
  const bool lines = (wanted_.local & ICANON) != 0;
  wanted_.keys[VMIN] = lines ? first_.keys[VMIN] : std::uint8_t{1};
  wanted_.keys[VTIME] = lines ? first_.keys[VTIME] : std::uint8_t{0};
  try_again();
}

void MirroredModes::try_again() {
  if (before_ && wanted_ != applied_ && is_ours()) apply(wanted_);
}

void MirroredModes::restore() {
  if (before_ && applied_ != first_ && is_ours()) apply(first_);
}

bool MirroredModes::is_ours() {
  if (!before_) return true;
  if (!is_in_foreground()) {
    was_in_background_ = true;
    return false;
  }
  // What a shell does to its terminal while a job is stopped is for itself.
  if (was_in_background_ && applied_ != first_) apply(applied_);
  was_in_background_ = false;
  return is_as_we_left_it();
}

// A terminal that is not our controlling one has no foreground that we could be out of.
bool MirroredModes::is_in_foreground() const {
  const pid_t group = ::tcgetpgrp(terminal_);
  return group < 0 || group == ::getpgrp();
}

bool MirroredModes::is_as_we_left_it() const {
  const std::optional<TerminalModes> now = modes_of(terminal_);
  return now && (now->local & kOfLines) == (applied_.local & kOfLines);
}

// By no call that waits for output to be shown: it may be stopped.
void MirroredModes::apply(const TerminalModes& modes) {
  if (::ioctl(terminal_, TCSETS, &modes) == 0) applied_ = modes;
}

}  // namespace hermetic::linux_backend
