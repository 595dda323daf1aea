// TerminalRelay: carries bytes between the caller's terminal and the one inside the sandbox.
#pragma once

#include <poll.h>

#include <span>
#include <string>
#include <vector>

#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

class TerminalRelay {
 public:
  // `terminal` is our side of the sandbox's terminal; the others are the caller's descriptors.
  TerminalRelay(UniqueFd terminal, int input, int output);

  // Adds two entries: the caller's input and the terminal.
  void watch(std::vector<pollfd>& watched) const;
  void serve(std::span<const pollfd> watched);

  void copy_size();  // of the caller's window
  void drain();      // what the command wrote last

 private:
  void read_input();
  void write_pending();
  bool read_terminal();  // false: there is nothing (more)

  UniqueFd terminal_;
  int input_;
  int output_;
  std::string pending_;  // typed, and not yet taken
};

}  // namespace hermetic::linux_backend
