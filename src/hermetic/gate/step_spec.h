// From a step of a policy to the spec under which it runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/gate/policy.h"
#include "hermetic/spec/caller_programs.h"
#include "hermetic/spec/spec.h"

namespace hermetic::gate {

struct Surroundings {
  std::string workspace;  // the real path of the folder that the steps work in
  std::map<std::string, std::string> environment;  // the caller's
  std::vector<std::string> hidden;  // in the workspace: where the evidence is written
  bool caller_toolchain = false;    // also show what the caller's PATH leads to

  [[nodiscard]] CallerSearch search() const;
};

struct StepEnvironment {
  std::map<std::string, std::string> variables;  // all that the step gets beyond the built-in ones
  std::vector<std::string> stripped;             // names that the step did not get, sorted
};

// A small base and what the policy names, or all of the caller's but for credentials.
[[nodiscard]] StepEnvironment environment_of(const Step& step,
                                             const std::map<std::string, std::string>& caller);

// Without a spec of its own a step sees the system's programs and settings, what else is on PATH,
// and the workspace, which it changes in place but for .git. Enforced or observed is for the
// backend to say; `network` is what it may reach.
[[nodiscard]] Result<Spec> spec_of(const Step& step, const NetworkPolicy& network,
                                   const StepEnvironment& environment,
                                   const Surroundings& surroundings);

}  // namespace hermetic::gate
