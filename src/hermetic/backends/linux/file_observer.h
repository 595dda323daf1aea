// FileObserver: hears which file names the command asks for. It observes and never decides: every
// call goes on unchanged, and what it may do is up to the mounts.
#pragma once

#include <linux/filter.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

// Asks about the system calls that take a file name.
[[nodiscard]] std::vector<sock_filter> file_observer_filter();

class FileObserver {
 public:
  explicit FileObserver(UniqueFd listener) : listener_(std::move(listener)) {}

  [[nodiscard]] int descriptor() const { return listener_.get(); }
  void serve();  // one question; call it when the descriptor is readable
  void close() { listener_.reset(); }

  // Sorted, each once.
  [[nodiscard]] std::vector<AskedPath> asked() const;

 private:
  UniqueFd listener_;
  std::set<std::pair<std::string, Operation>> asked_;
};

}  // namespace hermetic::linux_backend
