#include "hermetic/backends/linux/descriptor_closer.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "hermetic/base/quiet_thread.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostWaiting = 64;
constexpr std::chrono::milliseconds kMoment{5};
constexpr std::chrono::seconds kPatience{2};  // with a thread that may just not have had a turn

}  // namespace

struct DescriptorCloser::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<UniqueFd> waiting;
  bool is_closing = false;
  bool is_over = false;    // nothing more comes
  bool has_ended = false;  // and nobody works here any more
};

void DescriptorCloser::work(const std::shared_ptr<Queue>& queue) {
  std::unique_lock lock(queue->mutex);
  while (!queue->is_over || !queue->waiting.empty()) {
    queue->changed.wait(lock, [&] { return queue->is_over || !queue->waiting.empty(); });
    std::vector<UniqueFd> closing = std::exchange(queue->waiting, {});
    queue->is_closing = true;
    queue->changed.notify_all();
    lock.unlock();
    closing.clear();
    lock.lock();
    queue->is_closing = false;
    queue->changed.notify_all();
  }
  queue->has_ended = true;
  queue->changed.notify_all();
}

DescriptorCloser::~DescriptorCloser() {
  if (!queue_) return;
  std::unique_lock lock(queue_->mutex);
  queue_->is_over = true;
  queue_->changed.notify_all();
  (void)queue_->changed.wait_for(lock, kPatience, [&] { return queue_->has_ended; });
}

void DescriptorCloser::settle() {
  if (!queue_ || is_stuck_) return;
  std::unique_lock lock(queue_->mutex);
  (void)queue_->changed.wait_for(lock, kMoment,
                                 [&] { return queue_->waiting.empty() && !queue_->is_closing; });
}

void DescriptorCloser::close(UniqueFd descriptor) {
  if (!descriptor.is_open()) return;
  if (!queue_ && !is_stuck_) {
    queue_ = std::make_shared<Queue>();
    std::thread thread = start_quiet_thread([queue = queue_] { work(queue); });
    if (thread.joinable()) {
      thread.detach();
    } else {
      // The command may have taken all processes that the user may have. The copy stays open as
      // long as we live: whoever closes it could wait.
      queue_.reset();
      is_stuck_ = true;
    }
  }
  if (!queue_) {
    (void)descriptor.release();
    return;
  }
  std::unique_lock lock(queue_->mutex);
  queue_->waiting.push_back(std::move(descriptor));
  if (queue_->waiting.size() > kMostWaiting && !is_stuck_)
    is_stuck_ = !queue_->changed.wait_for(lock, kPatience,
                                          [&] { return queue_->waiting.size() <= kMostWaiting; });
  queue_->changed.notify_all();
}

}  // namespace hermetic::linux_backend
