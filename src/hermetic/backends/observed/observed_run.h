// ObservedRun: a command without a sandbox, its output kept, its time limited, and watched.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/backends/observed/process_list.h"
#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/run/backend.h"

namespace hermetic::observed {

// How one watches. All of it is called from the thread that waits.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // What to start instead of the command; `program` is the command's own.
  [[nodiscard]] virtual std::vector<std::string> wrapped(const Plan& plan,
                                                         const std::string& program) = 0;
  virtual void started(pid_t process) = 0;
  // To be read from, or -1.
  [[nodiscard]] virtual int descriptor() const { return -1; }
  virtual void read(std::chrono::nanoseconds since_start) = 0;
  // Every 50 ms.
  virtual void look(EventSink& events, std::chrono::nanoseconds since_start) = 0;
  // Has the command itself ended? Others may go on.
  [[nodiscard]] virtual bool command_ended() = 0;
  [[nodiscard]] virtual pid_t command() const = 0;
  [[nodiscard]] virtual std::vector<ProcessStatus> processes() = 0;
  // All are gone. Fails if it was prevented from watching.
  [[nodiscard]] virtual Result<void> finish(EventSink& events) = 0;
};

// Fails before anything has run; a command that cannot be started is an outcome.
[[nodiscard]] Result<std::unique_ptr<Run>> start_observed(std::unique_ptr<Watcher> watcher,
                                                          const Plan& plan,
                                                          const RunOptions& options,
                                                          EventSink& events);

// Along a search path such as PATH; "" and errno if there is none.
[[nodiscard]] std::string find_program(const std::string& word, const std::string& search,
                                       const std::string& directory);

}  // namespace hermetic::observed
