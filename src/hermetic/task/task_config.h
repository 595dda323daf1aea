// TaskConfig: the file that says which models a task is about. Their digests are computed, not
// believed.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hermetic/base/result.h"
#include "hermetic/workspace/contents.h"

namespace hermetic::task {

struct TaskConfig {
  std::string hash;  // SHA-256 of the file; "" without one
  // By name, of the files that 'models' and 'tokenizers' lead to; nothing if there are none.
  std::optional<std::map<std::string, std::string>> model_shas;
  std::optional<std::map<std::string, std::string>> tokenizer_shas;
  std::optional<std::map<std::string, std::string>> quantization;  // as it is written
};

// Paths in it are relative to its folder. Keys that it does not know are no business of ours.
[[nodiscard]] Result<TaskConfig> load_task_config(const std::string& file, Contents& contents);

}  // namespace hermetic::task
