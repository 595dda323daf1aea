// InputRelay: what a descriptor of the caller's has to read goes into a pipe of ours.
#pragma once

#include <memory>
#include <optional>

#include "hermetic/base/relay_thread.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

class InputRelay {
 public:
  static Result<std::unique_ptr<InputRelay>> make(int source);
  InputRelay(const InputRelay&) = delete;
  InputRelay& operator=(const InputRelay&) = delete;
  ~InputRelay();

  // The end to read from. It stays open: what is left in it at the end is given back.
  [[nodiscard]] int reader() const { return reader_.get(); }
  Result<void> start();
  void end() { thread_.end(); }
  // Once, after the last process that could read is gone. Returns 0, or why not all could be read.
  // A file or pipe is then where the last reader stopped, not where we did.
  [[nodiscard]] int finish();

 private:
  class Work;
  InputRelay();

  UniqueFd reader_;
  std::shared_ptr<Work> work_;
  RelayThread thread_;
};

}  // namespace hermetic
