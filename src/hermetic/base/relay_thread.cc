#include "hermetic/base/relay_thread.h"

#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "hermetic/base/quiet_thread.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

constexpr std::chrono::milliseconds kLookAtRelay{50};
// How long a thread that was told to leave may take: longer only if a system call holds it.
constexpr std::chrono::milliseconds kLeavingOfRelay{1000};

}  // namespace

struct RelayThread::Control::State {
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> ending = false;
  std::atomic<bool> leaving = false;
  std::atomic<bool> hurried = false;
  std::atomic<Clock::time_point> progress = Clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

RelayThread::Control::Control() : state_(std::make_unique<State>()) {}
RelayThread::Control::~Control() = default;

bool RelayThread::Control::wait(std::span<pollfd> watched, int milliseconds) {
  std::vector<pollfd> all(watched.begin(), watched.end());
  all.push_back({.fd = state_->wake.get(), .events = POLLIN, .revents = 0});
  const int ready = ::poll(all.data(), all.size(), milliseconds);
  for (std::size_t i = 0; i < watched.size(); ++i)
    watched[i].revents = ready > 0 ? all[i].revents : static_cast<short>(0);
  if (ready < 0 && errno != EINTR && errno != EAGAIN) return false;
  eventfd_t ignored = 0;
  if (ready > 0 && all.back().revents != 0) (void)::eventfd_read(state_->wake.get(), &ignored);
  return !state_->leaving;
}

bool RelayThread::Control::wait(int descriptor, short events) {
  pollfd watched{.fd = descriptor, .events = events, .revents = 0};
  return wait(std::span(&watched, 1));
}

bool RelayThread::Control::is_ending() const { return state_->ending; }

void RelayThread::Control::note_progress() { state_->progress = Clock::now(); }

RelayThread::~RelayThread() {
  if (!thread_.joinable()) return;
  leave();
  (void)finish(std::nullopt);
}

Result<void> RelayThread::start(Work work) {
  control_ = std::make_shared<Control>();
  if (!control_->state_->wake.is_open()) return system_error("cannot make an eventfd", errno);
  thread_ = start_quiet_thread([control = control_, work = std::move(work)]() mutable {
    work(*control);
    work = nullptr;  // what it uses is closed before anybody learns that it is done
    const std::lock_guard lock(control->state_->mutex);
    control->state_->done = true;
    control->state_->changed.notify_all();
  });
  if (!thread_.joinable()) return system_error("cannot start a thread", EAGAIN);
  return {};
}

void RelayThread::end() {
  if (!control_) return;
  if (!control_->state_->ending.exchange(true)) control_->note_progress();
  (void)::eventfd_write(control_->state_->wake.get(), 1);
}

void RelayThread::hurry() {
  if (!control_) return;
  if (!control_->state_->hurried.exchange(true)) control_->note_progress();
}

void RelayThread::leave() {
  control_->state_->leaving = true;
  (void)::eventfd_write(control_->state_->wake.get(), 1);
}

bool RelayThread::finish(std::optional<Clock::time_point> until) {
  if (!thread_.joinable()) return true;
  end();
  Control::State& state = *control_->state_;
  std::optional<Clock::time_point> hurried;
  std::optional<Clock::time_point> left;
  if (state.leaving) left = Clock::now();
  std::unique_lock lock(state.mutex);
  while (!state.changed.wait_for(lock, kLookAtRelay, [&] { return state.done; })) {
    const Clock::time_point now = Clock::now();
    if (until && now >= *until) hurry();
    if (state.hurried && !hurried) hurried = now;
    const bool enough = hurried && (now - state.progress.load() >= kRelayPatience ||
                                    now - *hurried >= kRelayLongest);
    if (enough && !left) {
      left = now;
      leave();
    }
    if (left && now - *left >= kLeavingOfRelay) {
      thread_.detach();
      return false;
    }
  }
  lock.unlock();
  thread_.join();
  return !left;
}

}  // namespace hermetic
