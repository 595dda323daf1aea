// RelayThread: a thread that carries bytes between descriptors, and that nothing outside can keep
// from ending.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "hermetic/base/result.h"

namespace hermetic {

// After a limit, a relay goes on as long as the other side takes something that often, and no
// longer than this in all.
inline constexpr std::chrono::milliseconds kRelayPatience{500};
inline constexpr std::chrono::milliseconds kRelayLongest{2000};

class RelayThread {
 public:
  using Clock = std::chrono::steady_clock;

  // What the thread and its owner share.
  class Control {
   public:
    Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    ~Control();

    // Waits for the descriptors, for the end or for the time. False: leave at once.
    bool wait(std::span<pollfd> watched, int milliseconds = -1);
    bool wait(int descriptor, short events);
    // Nothing more will come: carry what is there, and leave.
    [[nodiscard]] bool is_ending() const;
    void note_progress();

   private:
    friend class RelayThread;
    struct State;
    std::unique_ptr<State> state_;
  };
  // Owns all that it uses: see finish().
  using Work = std::function<void(Control&)>;

  RelayThread() = default;
  RelayThread(const RelayThread&) = delete;
  RelayThread& operator=(const RelayThread&) = delete;
  RelayThread(RelayThread&&) = default;
  RelayThread& operator=(RelayThread&&) = delete;
  ~RelayThread();

  Result<void> start(Work work);
  // Nothing more will come. From any thread; may be called again.
  void end();
  // From now on the patience above holds. From any thread.
  void hurry();
  // Waits until the work is done; from the time `until` on the patience above holds. True: it was
  // done. False: the other side did not take part in time. A thread that a file system holds even
  // then is left to itself, with all that it uses.
  [[nodiscard]] bool finish(std::optional<Clock::time_point> until);

 private:
  void leave();

  std::shared_ptr<Control> control_;
  std::thread thread_;
};

}  // namespace hermetic
