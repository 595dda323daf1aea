// RunFolder: the folder of one run of a task, which is gone when the run is, whatever happens.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/workspace/patient_lock.h"

namespace hermetic {

// What was made on the host for a run, and what of it is gone again.
struct Certificate {
  std::vector<std::string> made;  // in this order
  std::vector<std::string> removed;
  std::vector<std::string> left;  // with the reason; empty if all is well
};

// Before the folder is made, a journal says where it will be; it is locked as long as we live. So
// whoever comes later finds and removes the folder of a run that was killed.
class RunFolder {
 public:
  // Makes SCRATCH/TASK/RUN; `journals` is a directory of this user alone. Without `run`, the name
  // of the run is new; a folder that has the given name already is refused. A file '.git' in the
  // folder, which names no repository, ends the search of git for one: it would find the
  // repository in which the scratch folder lies.
  static Result<RunFolder> make(const std::string& scratch, const std::string& task,
                                const std::string& journals, const std::string& run = {});

  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();  // removes it

  // Makes a directory of this name in the folder.
  [[nodiscard]] Result<std::string> add(const std::string& name);

  // Removes all of it, and the folders above it that it had to make and that are empty. In a child
  // that fork() made of the process that made it, does nothing: it is the parent's.
  [[nodiscard]] Certificate remove();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& run() const { return run_; }

 private:
  RunFolder() = default;
  [[nodiscard]] Result<void> announce(const std::string& top, const std::string& task,
                                      const std::string& journals, const std::string& run);
  [[nodiscard]] Result<void> end_search_for_repositories();

  std::string path_;  // absolute; "" once it is removed
  std::string run_;   // "run_1763258041123_5f0c12"
  std::string journal_;
  pid_t owner_ = ::getpid();
  UniqueFd lock_;
  std::vector<std::string> made_;
};

// A name that can be part of a path: letters, digits, '.', '_' and '-', and it starts with no dot.
[[nodiscard]] Result<void> check_task_name(const std::string& name);

// The folders of runs that were killed.
struct AbandonedRuns {
  struct Left {
    std::string path;
    std::string why;
  };
  std::vector<std::string> removed;
  std::vector<Left> left;  // with their journals: who comes later tries again
};
// Those whose maker is alive stay; whether one is, is waited for up to the deadline.
[[nodiscard]] AbandonedRuns remove_abandoned_runs(const std::string& journals,
                                                  Deadline deadline = {});

}  // namespace hermetic
