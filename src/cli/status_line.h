// StatusLine: one line at the bottom of the terminal while a run lasts longer than a second.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "hermetic/run/usage.h"

namespace hermetic::cli {

// The command writes to the terminal itself, so the line is kept out of its way: the screen above
// it scrolls alone. Gone, and the screen whole again, when it is destroyed.
class StatusLine {
 public:
  enum class Show { Never, OnTerminal };  // standard error

  // `usage` is asked once a second, from another thread.
  StatusLine(Show show, std::string what, std::function<Usage()> usage);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();

 private:
  void run();

  std::string what_;
  std::function<Usage()> usage_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace hermetic::cli
