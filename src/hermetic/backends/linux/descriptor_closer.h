// DescriptorCloser: closes copies of the command's descriptors where nobody waits for it.
//
// Whoever closes a descriptor last may wait for as long as the command likes: SO_LINGER makes
// close(2) wait for a peer that does not read, and a socket may hold other sockets. If the command
// closes its own first, the last one is ours.
#pragma once

#include <memory>

#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

class DescriptorCloser {
 public:
  DescriptorCloser() = default;
  DescriptorCloser(const DescriptorCloser&) = delete;
  DescriptorCloser& operator=(const DescriptorCloser&) = delete;
  ~DescriptorCloser();  // waits, but not for somebody who is stuck

  void close(UniqueFd descriptor);
  // Waits until all are closed, for some milliseconds at most.
  void settle();
  // Somebody keeps us from closing descriptors, and more are not to be copied.
  [[nodiscard]] bool is_stuck() const { return is_stuck_; }

 private:
  struct Queue;
  static void work(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;  // shared with a thread that is started when it is needed
  bool is_stuck_ = false;
};

}  // namespace hermetic::linux_backend
