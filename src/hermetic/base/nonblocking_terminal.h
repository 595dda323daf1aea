// NonblockingTerminal: reads and writes of the caller's terminal that never wait.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "hermetic/base/unique_fd.h"

namespace hermetic {

class NonblockingTerminal {
 public:
  NonblockingTerminal() = default;
  // With -1 there is none. Does not take the descriptor over.
  explicit NonblockingTerminal(int descriptor);

  [[nodiscard]] int get() const { return own_.is_open() ? own_.get() : callers_; }
  // As read(2) and write(2): EAGAIN instead of waiting.
  ssize_t read(char* block, std::size_t size) const;
  ssize_t write(const char* text, std::size_t size) const;

 private:
  // The flag of an open file belongs to all who share it, so the terminal is opened anew. Where
  // that is not allowed, as to a user who came by su(1), the flag is set for the moment of the
  // call.
  template <class Call>
  ssize_t without_waiting(Call call) const;

  UniqueFd own_;
  int callers_ = -1;
};

}  // namespace hermetic
