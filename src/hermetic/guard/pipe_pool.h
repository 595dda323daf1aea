// PipePool: large pipes for splice(2), used again and again.
//
// A connection holds one only while data waits in it, so idle connections need none.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hermetic/base/unique_fd.h"

namespace hermetic::guard {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

class PipePool {
 public:
  [[nodiscard]] std::optional<Pipe> take();  // nothing if there are no descriptors left
  void give_back(Pipe pipe);                 // empty

 private:
  std::vector<Pipe> idle_;
};

}  // namespace hermetic::guard
