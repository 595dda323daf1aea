// Contents: digests of files, each computed once for as long as nobody changes the file. One that
// was changed a moment ago is read again each time.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "hermetic/base/result.h"

namespace hermetic {

// For any thread.
class Contents {
 public:
  [[nodiscard]] Result<std::string> digest_of(const std::string& file);
  // Of one that is open already; `file` is what it is called.
  [[nodiscard]] Result<std::string> digest_of(int content, const std::string& file);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> digests_;  // by path, file, size and times
};

}  // namespace hermetic
