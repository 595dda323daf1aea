// PipeWindow: what waits in a pipe is offered in a pipe of ours, and only what was read there is
// taken.
//
// A pipe of which something was taken cannot be given it back, so it is looked at with tee(2): what
// the reader leaves is for whoever reads the pipe next, as the loop of a shell.
#pragma once

#include <cstddef>
#include <memory>

#include "hermetic/base/relay_thread.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

class PipeWindow {
 public:
  // `reader` and `writer` are the ends of ours; the writer does not wait.
  static Result<std::unique_ptr<PipeWindow>> make(int source, int reader, UniqueFd writer);

  // Until there is an end of the input.
  void run(RelayThread::Control& control);
  // Takes what was read. Once more at the end, when nothing reads any more.
  void settle();
  [[nodiscard]] int os_error() const { return os_error_; }

 private:
  PipeWindow() = default;
  [[nodiscard]] bool has_hung_up() const;
  bool offer();
  bool wait(RelayThread::Control& control);
  std::size_t waiting_in(int pipe);
  void drop(int pipe, std::size_t size);

  UniqueFd source_;
  UniqueFd reader_;
  UniqueFd writer_;
  UniqueFd seen_;  // the way from the source to ours, without what is there already
  UniqueFd seen_writer_;
  UniqueFd nothing_;
  UniqueFd changes_;
  std::size_t offered_ = 0;  // of what the source begins with
  int look_ = 0;
  bool ended_ = false;
  int os_error_ = 0;
};

}  // namespace hermetic
