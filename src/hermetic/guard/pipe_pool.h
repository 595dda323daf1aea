// PipePool: large pipes for splice(2), used again and again.
//
// A connection holds one only while data waits in it, so idle connections need none.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/poller.h"

namespace hermetic::guard {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

class PipePool {
 public:
  explicit PipePool(const Poller& poller) : poller_(&poller) {}

  [[nodiscard]] std::optional<Pipe> take();  // nothing if there are no descriptors left
  void give_back(Pipe pipe);                 // empty
  void throw_away(Pipe /*pipe*/) { --made_; }

 private:
  const Poller* poller_;  // borrowed
  std::vector<Pipe> idle_;
  std::size_t made_ = 0;  // and not thrown away
};

}  // namespace hermetic::guard
