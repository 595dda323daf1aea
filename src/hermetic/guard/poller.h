// Poller: one epoll descriptor, and who is to be told when something happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::guard {

using Clock = std::chrono::steady_clock;

class Poller {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  // A descriptor that is watched as long as this is there. It must go before its descriptor.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept { swap(other); }
    Watch& operator=(Watch&& other) noexcept {
      Watch(std::move(other)).swap(*this);
      return *this;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    ~Watch();

    // Waits for other events; or, for those of an edge, asks once more whether they are there.
    void change(std::uint32_t events);
    void swap(Watch& other) noexcept;

   private:
    friend class Poller;
    Poller* poller_ = nullptr;
    int fd_ = -1;
    std::uint64_t id_ = 0;
  };

  static Result<std::unique_ptr<Poller>> make();
  [[nodiscard]] int descriptor() const { return epoll_.get(); }

  // May there be more descriptors? A quarter of those that the process may have is left to others:
  // without any, nobody could look at the command and keep its limits.
  [[nodiscard]] bool has_room() const;

  // If it cannot be watched, the handler is told EPOLLERR in the next serve().
  [[nodiscard]] Watch watch(int fd, std::uint32_t events, Handler handler);

  // Done when no handler is on the stack: the place to destroy whoever has just been told.
  void later(std::function<void()> act) { later_.push_back(std::move(act)); }

  void do_later();

  // Tells everybody for whom there is something. Never waits.
  void serve();

  // Has this serve() taken long already? Who has more to do then leaves it for the next one.
  [[nodiscard]] bool is_late() const { return Clock::now() - began_ > kLongestTurn; }

 private:
  static constexpr std::chrono::milliseconds kLongestTurn{20};

  explicit Poller(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  void tell(std::uint64_t id, std::uint32_t events);

  UniqueFd epoll_;
  Clock::time_point began_ = Clock::now();
  std::uint64_t last_ = 0;
  // An event of one who went while others were told finds nobody.
  std::map<std::uint64_t, std::shared_ptr<Handler>> handlers_;
  std::vector<std::uint64_t> not_watched_;
  std::vector<std::function<void()>> later_;
};

}  // namespace hermetic::guard
