// StandardStreams: what the command gets as standard input, output and error, and the relays behind
// them.
//
// The command never holds an object of the host that has a mode, an owner or attributes, but only
// what bytes go through. See docs/decisions/0016-standard-streams.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/backends/linux/terminal_relay.h"
#include "hermetic/base/input_relay.h"
#include "hermetic/base/output_relay.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/run/backend.h"

namespace hermetic::linux_backend {

class StandardStreams {
 public:
  using Clock = RelayThread::Clock;

  // `wanted` are the caller's descriptors; below 0, closed, or of those that execve() would close
  // stands for /dev/null. With `interactive`, all three are a terminal of the sandbox's own.
  // With `captured`, output and error are pipes of our own, which need no relay. Refuses what is no
  // stream of bytes.
  static Result<StandardStreams> make(std::array<int, 3> wanted, bool interactive,
                                      std::uint64_t largest_file = UINT64_MAX,
                                      bool captured = false);

  // What the script has to know.
  void describe(Facts& facts) const;
  // The child has them: ours are closed.
  void passed_on();
  // Our side of the next terminal that was described. False: there is none.
  bool take_terminal(UniqueFd controller);
  [[nodiscard]] bool has_terminals() const;

  // The command runs.
  Result<void> start();
  // See RelayThread. From any thread, once start() has returned.
  void hurry();
  // The command was sent a signal. May be called from signal handlers.
  void note_signal();
  // What has gone to regular files so far.
  [[nodiscard]] std::uint64_t written_to_files() const;
  enum class Delivery : std::uint8_t { Whole, Unread, TooLarge };
  // The command is gone. Fails with what kept the bytes from going on.
  Result<Delivery> finish(std::optional<Clock::time_point> until);

 private:
  struct Terminal {
    std::unique_ptr<TerminalRelay> relay;
    OwnTerminal first;
  };

  Result<void> add(std::size_t place, int descriptor, const std::array<int, 3>& wanted);
  Result<void> add_bytes(std::size_t place, int descriptor, const std::array<int, 3>& wanted);
  Result<void> give(std::size_t place, int descriptor);
  void give_device(std::size_t place, const char* path, int flags);
  void add_terminals(const std::array<int, 3>& wanted);

  std::array<UniqueFd, 3> owned_;
  std::array<int, 3> numbers_ = {-1, -1, -1};
  std::array<InsideDevice, 3> devices_;
  std::array<std::optional<std::uint64_t>, 3> terminal_objects_;
  std::vector<Terminal> terminals_;
  std::unique_ptr<InputRelay> input_;
  std::array<std::unique_ptr<OutputRelay>, 2> outputs_;
  std::uint64_t largest_file_ = UINT64_MAX;
};

}  // namespace hermetic::linux_backend
