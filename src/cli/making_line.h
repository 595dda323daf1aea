// MakingLine: says what is made for the cache while that takes long: on a terminal one line that is
// overwritten and gone in the end, elsewhere a line now and then.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hermetic/workspace/cache.h"

namespace hermetic::cli {

class MakingLine {
 public:
  // The cache outlives it, and makes nothing while it is destroyed.
  MakingLine(Cache& cache, bool quiet);
  MakingLine(const MakingLine&) = delete;
  MakingLine& operator=(const MakingLine&) = delete;
  ~MakingLine();

 private:
  using Clock = std::chrono::steady_clock;
  struct Made {
    std::string kind;
    Clock::time_point begin;
  };
  void note(const std::string& kind, Cache::Making making);
  void run();
  void show(const Made& made);
  void clear();

  Cache& cache_;
  bool live_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Made> making_;  // guarded by `mutex_`; the last one is a part of those before
  bool shown_ = false;        // guarded by `mutex_`; there is a line to clear
  bool over_ = false;         // guarded by `mutex_`
  std::thread thread_;
};

}  // namespace hermetic::cli
