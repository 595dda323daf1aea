// The ways in which a gate can run a step on this host, strongest first.
#pragma once

#include <memory>
#include <vector>

#include "cli/options.h"
#include "hermetic/base/result.h"
#include "hermetic/gate/gate.h"

namespace hermetic::cli {

class GateDetectors {
 public:
  // What --detector and --require ask for.
  static Result<GateDetectors> make(const Arguments& arguments);

  [[nodiscard]] std::vector<gate::Detector> list() const { return list_; }

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
  std::vector<gate::Detector> list_;
};

}  // namespace hermetic::cli
