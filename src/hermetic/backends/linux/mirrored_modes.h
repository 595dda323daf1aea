// MirroredModes: the caller's terminal has the modes that the command gives its own, while nothing
// else uses it, and gets its own back.
#pragma once

#include <optional>

#include "hermetic/backends/linux/own_terminal.h"

namespace hermetic::linux_backend {

[[nodiscard]] std::optional<TerminalModes> modes_of(int terminal);
[[nodiscard]] WindowSize window_of(int terminal);
void set_window(int terminal, WindowSize size);

class MirroredModes {
 public:
  // -1: there is no terminal. `shared`: what has made it raw already is not the caller.
  MirroredModes(int terminal, bool shared);

  // For the command's terminal: the caller's edits lines for it, which it leaves alone (EXTPROC),
  // and ends them as the caller's does.
  [[nodiscard]] std::optional<TerminalModes> first() const;

  // Gives the caller's terminal what the command has given its own, now or as soon as it may be
  // touched.
  void follow(int controller);
  void try_again();
  void restore();
  // May we read from it and change it? Not in the background, and not while another program, such
  // as a pager, has changed it.
  [[nodiscard]] bool is_ours();

 private:
  [[nodiscard]] bool is_in_foreground() const;
  [[nodiscard]] bool is_as_we_left_it() const;
  void apply(const TerminalModes& modes);

  int terminal_;
  std::optional<TerminalModes> before_;
  TerminalModes first_;  // before_, or the usual modes
  TerminalModes wanted_;
  TerminalModes applied_;  // what it should have now
  bool was_in_background_ = false;
};

}  // namespace hermetic::linux_backend
