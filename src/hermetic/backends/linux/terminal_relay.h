// TerminalRelay: carries bytes between the caller's terminal and the one inside the sandbox, and
// what the command changes about its own to the caller's, for as long as the caller is using it.
#pragma once

#include <memory>
#include <optional>

#include "hermetic/backends/linux/own_terminal.h"
#include "hermetic/base/relay_thread.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

class TerminalRelay {
 public:
  struct Caller {
    int input = -1;   // -1: nothing is typed
    int output = -1;  // -1: nothing is shown
    // The caller's terminal edits lines and echoes, and the command's does what it did. Otherwise
    // the command's own does all that, and the caller's is raw.
    bool mirrored = false;
    // Something else may be reading from the terminal, as the end of a pipeline does.
    bool shared = false;
  };

  // Copies the caller's descriptors.
  explicit TerminalRelay(const Caller& caller);
  TerminalRelay(const TerminalRelay&) = delete;
  TerminalRelay& operator=(const TerminalRelay&) = delete;
  ~TerminalRelay();

  // What the terminal inside has to start as.
  [[nodiscard]] OwnTerminal first(unsigned places) const;
  // Our side of it, once.
  void take(UniqueFd controller);
  [[nodiscard]] bool has_taken() const;

  // The command was sent a signal, and may be about to end. May be called from signal handlers.
  void note_signal();

  Result<void> start();
  void end() { thread_.end(); }
  void hurry() { thread_.hurry(); }
  [[nodiscard]] bool finish(std::optional<RelayThread::Clock::time_point> until) {
    return thread_.finish(until);
  }

 private:
  class Work;
  std::shared_ptr<Work> work_;
  RelayThread thread_;
};

}  // namespace hermetic::linux_backend
