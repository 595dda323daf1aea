// Work: what the result of a task depends on, as far as that can be known before it runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "hermetic/base/result.h"
#include "hermetic/task/checkout.h"
#include "hermetic/task/task.h"

namespace hermetic::task {

struct Work {
  std::string digest;          // equal work, equal digest
  std::optional<Error> error;  // something that the task names is not there, or cannot be meant
};

// Each repository, lockfile, config and snapshot is looked at once, whatever the number of tasks.
// What lies in the inputs of a task is not looked at, nor are the system's programs but for the
// interpreter.
class WorkReader {
 public:
  // `also` is what else decides what is left of each task.
  WorkReader(std::string also, Cache& cache, Backend& backend)
      : also_(std::move(also)), cache_(cache), backend_(backend) {}

  // The request is bound to the commits that its revision and its base stand for now. Of a task
  // that was made of it, what that has read counts, and not what is there now.
  [[nodiscard]] Work look_at(TaskRequest& request, const Task* made = nullptr);

 private:
  // A digest for each thing that counts.
  struct Parts {
    std::map<std::string, std::string> digests;
    std::optional<Error> error;
    void add(const char* key, const Result<std::string>& text);
  };
  void add_environments(const TaskRequest& request, const Task* made, Parts& parts);
  Result<Source> source_of(const NamedRepository& repository, const std::string& revision);
  Result<std::string> config_of(const std::string& file);
  Result<std::string> snapshot_of(const std::string& name);

  std::string also_;
  Cache& cache_;
  Backend& backend_;
  std::map<std::pair<NamedRepository, std::string>, Result<Source>> sources_;
  std::map<std::string, Result<std::string>> configs_;
  std::map<std::string, Result<std::string>> snapshots_;
  std::map<std::string, Result<std::string>> wheels_;
};

}  // namespace hermetic::task
