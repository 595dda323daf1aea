// LineFile: a file to which whole lines are added while somebody may be reading it.
//
// Lines wait in memory, within a bound. What cannot be written is kept, and tried again, as long as
// there is room. A regular file never ends in half a line. Nobody is waited for longer than was
// said, or a pipe that nobody reads would hold up whoever writes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/places/own_place.h"

namespace hermetic {

class LineFile {
 public:
  struct Options {
    mode_t mode = 0644;                       // of a file that is not there yet
    std::chrono::milliseconds patience = {};  // with a pipe that is full, once until it is read
    std::size_t most_waiting = std::size_t{64} << 10U;  // bytes, but for a single longer line
  };

  // `what` is in the error: "the samples".
  static Result<LineFile> make(const OwnPlace& place, std::string_view what,
                               const Options& options);

  // The line has its newline. False if there was no room for it: it is lost.
  [[nodiscard]] bool append(std::string_view line);
  // True if nothing waits any more.
  bool flush();
  // Writes what it can and closes. The number of lines that waited and are lost.
  [[nodiscard]] std::uint64_t finish();
  [[nodiscard]] std::uint64_t appended_lines() const { return appended_lines_; }
  [[nodiscard]] std::uint64_t written_lines() const { return written_lines_; }
  // Why something could not be written, last, or 0.
  [[nodiscard]] int os_error() const { return os_error_; }

 private:
  LineFile(UniqueFd file, const Options& options);
  [[nodiscard]] bool is_ready();
  void remove_half_line();

  UniqueFd file_;
  Options options_;
  bool regular_ = false;
  bool patient_ = true;
  std::string waiting_;
  std::size_t half_line_ = 0;  // bytes written since the last newline
  std::uint64_t appended_lines_ = 0;
  std::uint64_t written_lines_ = 0;
  int os_error_ = 0;
};

}  // namespace hermetic
