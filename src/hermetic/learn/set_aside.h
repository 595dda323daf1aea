// SetAside: what the observed run has made inside a directory that is changed in place, out of the
// way while the spec is proved.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hermetic/base/unique_fd.h"
#include "hermetic/learn/generalise.h"
#include "hermetic/learn/observation.h"

namespace hermetic {

// Puts everything back when it is destroyed, unless it was made again meanwhile.
class SetAside {
 public:
  SetAside(const Observation& observation, const Learned& learned);
  SetAside(const SetAside&) = delete;
  SetAside& operator=(const SetAside&) = delete;
  ~SetAside();

 private:
  struct Moved {
    std::string from;
    std::string to;
  };
  struct Folder {
    std::string path;
    UniqueFd lock;
  };
  void move_results(const Observation& observation, const std::string& tree);

  std::vector<Folder> folders_;
  std::vector<Moved> moved_;
};

}  // namespace hermetic
