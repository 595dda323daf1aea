#include "hermetic/guard/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace hermetic::guard {
namespace {

constexpr std::size_t kMostIdle = 4;
constexpr std::size_t kMostLargePipes = 16;
constexpr int kPipeSize = 1 << 20;  // what a plain user may ask for; smaller will do as well

}  // namespace

std::optional<Pipe> PipePool::take() {
  if (!idle_.empty()) {
    Pipe pipe = std::move(idle_.back());
    idle_.pop_back();
    return pipe;
  }
  if (!poller_->has_room()) return {};
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return {};
  Pipe pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
  // Those that are in use may be as many as connections, and what is in them is nobody's memory.
  if (made_++ < kMostLargePipes) ::fcntl(ends[1], F_SETPIPE_SZ, kPipeSize);
  return pipe;
}

void PipePool::give_back(Pipe pipe) {
  if (idle_.size() < kMostIdle)
    idle_.push_back(std::move(pipe));
  else
    throw_away(std::move(pipe));
}

}  // namespace hermetic::guard
