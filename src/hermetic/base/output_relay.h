// OutputRelay: what is written to a pipe of ours goes on to a descriptor of the caller's.
//
// Whoever writes gets the pipe: nothing but bytes can reach the caller's object through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hermetic/base/relay_thread.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

class OutputRelay {
 public:
  struct Options {
    std::size_t keep = 0;  // so many bytes are kept, too
    // A regular file is not made larger than this: errno is EFBIG then.
    std::uint64_t largest_file = UINT64_MAX;
  };
  struct Carried {
    bool whole = true;  // all that was written went on, or the reader is gone
    int os_error = 0;   // why it did not; a reader who is gone is none
    std::string kept;
    std::uint64_t dropped = 0;  // bytes that were not kept
  };

  static Result<std::unique_ptr<OutputRelay>> make(int destination, Options options);
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;
  ~OutputRelay();

  // The end to write to; not once it was closed.
  [[nodiscard]] int writer() const { return writer_.get(); }
  void close_writer() { writer_.reset(); }
  Result<void> start();
  void end() { thread_.end(); }
  void hurry() { thread_.hurry(); }
  // What has gone to a regular file so far. From any thread.
  [[nodiscard]] std::uint64_t written_to_file() const;
  // Once, after the last process that could write is gone.
  [[nodiscard]] Carried finish(std::optional<RelayThread::Clock::time_point> until);

 private:
  class Work;
  OutputRelay();

  UniqueFd writer_;
  std::shared_ptr<Work> work_;
  RelayThread thread_;
};

// For fewer changes between processes; a larger one no longer fits into the caches.
void enlarge_pipe(int pipe);

}  // namespace hermetic
