// ProcessReader: who made a call, and who started that one, up to the command.
//
// Read from /proc while the call waits for us, so that the process is still there. What was read is
// kept and looked at again with as little as tells whether it still holds: a loop of calls would be
// slow otherwise. The files of /proc that are kept open are of one process for good, whoever gets
// its number. One that has executed another program is the same if that has the same name and
// words. The directory is read anew of the caller only: that of its parents is where they were when
// they were first looked at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/descriptor_closer.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/run/event.h"

namespace hermetic::linux_backend {

inline constexpr std::string_view kCut = "…";  // in the place of all that comes after

class ProcessReader {
 public:
  explicit ProcessReader(pid_t init) : init_(init) {}

  // What was looked at may be another by now.
  void next_question() { ++question_; }

  // The caller first. Empty if it is gone. What is cut, of a long chain or of many words, ends in
  // "…" and says so. Together they take no more than some tens of KiB.
  [[nodiscard]] std::vector<ProcessFacts> chain(pid_t thread);
  // The caller only, and without its directory.
  [[nodiscard]] std::vector<ProcessFacts> caller(pid_t thread);

  // A copy of a descriptor; closed if there is none. Whoever closes a socket last may wait for as
  // long as the command likes, and that is whoever looks at it under /proc/N/fd, too, if the
  // command closes it in that moment: a copy is the one way to look that leaves this to others.
  class Copy {
   public:
    Copy(UniqueFd descriptor, DescriptorCloser& closer)
        : descriptor_(std::move(descriptor)), closer_(closer) {}
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    ~Copy() { closer_.close(std::move(descriptor_)); }

    [[nodiscard]] bool is_open() const { return descriptor_.is_open(); }
    [[nodiscard]] int get() const { return descriptor_.get(); }
    // Of a directory: nobody can make that wait.
    void close_here() { descriptor_.reset(); }

   private:
    UniqueFd descriptor_;
    DescriptorCloser& closer_;
  };
  [[nodiscard]] Copy descriptor_of(pid_t thread, int number);
  // Waits a moment until copies are closed: what the one who is asked about closes next is closed
  // then.
  void settle() { closer_.settle(); }
  // The command keeps us from closing what we have copied.
  [[nodiscard]] bool is_held_up() const { return closer_.is_stuck(); }

 private:
  struct Known {
    pid_t thread = 0;
    std::uint64_t serial = 0;    // nobody else has it, not even another of the same number
    UniqueFd folder;             // /proc/N
    UniqueFd words;              // /proc/N/cmdline
    std::string text;            // of that
    UniqueFd pidfd;              // of the thread, which may have descriptors of its own; if needed
    std::uint64_t parent = 0;    // the serial of who was found to be its parent
    std::uint64_t question = 0;  // when it was last looked at
    ProcessFacts facts;
  };

  enum class Care { Exact, Words };
  Known* look_at(pid_t thread, Care care);
  Known* parent_of(Known& child);
  static bool is_the_same(const Known& known, Care care);

  pid_t init_;
  std::uint64_t question_ = 1;
  std::uint64_t last_serial_ = 0;
  DescriptorCloser closer_;
  std::list<Known> known_;  // the latest first
};

}  // namespace hermetic::linux_backend
