// FileObserver: hears which file names the command asks for. It observes and never decides: every
// call goes on unchanged, and what it may do is up to the mounts.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/run/outcome.h"

namespace hermetic::linux_backend {

// The program that the call wants to execute; nothing if it is no such call.
[[nodiscard]] std::optional<std::string> program_asked_for(const seccomp_notif& question);

// Asks about the system calls that take a file name.
[[nodiscard]] std::vector<sock_filter> file_observer_filter();

class FileObserver {
 public:
  void hear(const seccomp_notif& question);  // notes the name that it is about, if it is about one

  // Sorted, each once.
  [[nodiscard]] std::vector<AskedPath> asked() const;

 private:
  std::set<std::pair<std::string, Operation>> asked_;
};

}  // namespace hermetic::linux_backend
