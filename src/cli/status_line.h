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
  // On standard error. Always: where that is not a terminal, as a line of its own now and then.
  enum class Show { Never, OnTerminal, Always };

  // `usage` and `detail`, which may be empty, are asked from another thread.
  StatusLine(Show show, std::string what, std::function<Usage()> usage,
             std::function<std::string()> detail = {});
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();

 private:
  void run();
  void run_in_log();
  [[nodiscard]] std::string text(int elapsed) const;

  std::string what_;
  std::function<Usage()> usage_;
  std::function<std::string()> detail_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace hermetic::cli
