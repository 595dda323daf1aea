// StreamCopy: passes on what the command writes to one of its streams, and keeps a copy.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::cli {

class StreamCopy {
 public:
  // What is written to writer() goes on to `destination`; the first `most` bytes are kept. In a
  // thread of its own: a terminal that is stopped must not stop whoever watches the command.
  static Result<std::unique_ptr<StreamCopy>> make(int destination, std::size_t most);
  StreamCopy(const StreamCopy&) = delete;
  StreamCopy& operator=(const StreamCopy&) = delete;
  ~StreamCopy();

  [[nodiscard]] int writer() const { return writer_.get(); }
  // After the last process that could write is gone. Says so at its end if not all was kept.
  [[nodiscard]] std::string finish();

 private:
  StreamCopy(int destination, std::size_t most) : destination_(destination), most_(most) {}
  void copy();
  [[nodiscard]] bool pass_on(std::string_view text) const;

  int destination_;
  std::size_t most_;
  UniqueFd reader_;
  UniqueFd writer_;
  UniqueFd stop_;  // an eventfd: nobody writes any more
  std::string kept_;
  std::size_t dropped_ = 0;
  std::thread thread_;
};

}  // namespace hermetic::cli
