// What "hermetic run" says and writes about what a run has used.
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/record/line_file.h"
#include "hermetic/run/event.h"
#include "hermetic/run/usage.h"

namespace hermetic::cli {

// "1.2M": short, for people.
[[nodiscard]] std::string rounded_size(std::uint64_t bytes);
[[nodiscard]] std::string rounded_time(std::chrono::microseconds time);

// A table, a line for each thing that is counted.
[[nodiscard]] std::string usage_table(const Usage& usage);

// The file of --samples: a line as often as there is a sample.
class SamplesFile {
 public:
  static Result<SamplesFile> make(const OwnPlace& place);
  void write(const Usage& usage);
  // Fails if a line could not be written.
  [[nodiscard]] Result<void> close();

 private:
  SamplesFile(std::string path, LineFile file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  LineFile file_;
  bool lost_ = false;
};

}  // namespace hermetic::cli
