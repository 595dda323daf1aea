// UniqueFd: the one owner of one file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace hermetic {

class UniqueFd {
 public:
  constexpr UniqueFd() = default;
  explicit constexpr UniqueFd(int fd) : fd_(fd) {}

  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  // close() is not retried on EINTR: on Linux the descriptor is already gone. Whoever must know
  // that data reached the disk calls fsync() before letting go.
  void reset(int fd = -1) {
    if (const int old = std::exchange(fd_, fd); old >= 0) ::close(old);
  }

 private:
  int fd_ = -1;
};

}  // namespace hermetic
