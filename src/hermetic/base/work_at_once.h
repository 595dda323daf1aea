// work_at_once(): the same work in several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "hermetic/base/quiet_thread.h"

namespace hermetic {

// Calls `work`, which takes what is left to do until nothing is, in so many threads at once, of
// which the caller's is one. Where not all can be had, in some of those that there are: what is
// worked on needs processes and memory of its own, and gets what the others give back.
template <class Work>
void work_at_once(std::size_t count, const Work& work) {
  constexpr std::size_t kRoom = 16;
  std::vector<std::thread> helpers;
  helpers.reserve(count);
  std::atomic<std::size_t> wanted = 0;  // not known yet
  std::atomic<bool> begin = false;
  while (helpers.size() + 1 < count) {
    std::thread helper = start_quiet_thread([&work, &wanted, &begin, place = helpers.size() + 1] {
      wanted.wait(0);
      if (place >= wanted) return;
      begin.wait(false);
      work();
    });
    if (!helper.joinable()) break;
    helpers.push_back(std::move(helper));
  }
  if (helpers.size() + 1 < count) count = std::max<std::size_t>(helpers.size() / kRoom, 1);
  wanted = count;
  wanted.notify_all();
  for (; helpers.size() + 1 > count; helpers.pop_back()) helpers.back().join();
  begin = true;
  begin.notify_all();
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace hermetic
