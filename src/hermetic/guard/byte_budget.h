// ByteBudget: how many bytes may still go over the network, both ways, of all connections together.
//
// It is asked before bytes are passed on, so that none are beyond the limit, however many sockets
// have some at the same moment. What was wanted beyond it is counted, too: by that the run is found
// to be over its limit, and ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hermetic::guard {

class ByteBudget {
 public:
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

  explicit ByteBudget(std::uint64_t limit = kUnlimited) : limit_(limit) {}

  // Of a stream: as many of `wanted` as may be passed on now. Wanted and 0: it is over.
  [[nodiscard]] std::size_t part_of(std::size_t wanted) {
    const std::uint64_t left = limit_ - std::min(limit_, counted_);
    if (left == 0) want(wanted);
    return static_cast<std::size_t>(std::min<std::uint64_t>(left, wanted));
  }
  // What became of it.
  void passed(std::size_t count) { counted_ += count; }

  // Of a message, which goes as a whole or not at all.
  [[nodiscard]] bool take(std::size_t size) {
    const bool fits = counted_ <= limit_ && size <= limit_ - counted_;
    want(size);
    return fits;
  }

  // Above the limit if anything was wanted beyond it.
  [[nodiscard]] std::uint64_t counted() const { return counted_; }

 private:
  // Beyond the limit once: who is refused tries again.
  void want(std::size_t size) {
    if (counted_ <= limit_) counted_ += size;
  }

  std::uint64_t limit_;
  std::uint64_t counted_ = 0;
};

}  // namespace hermetic::guard
