// A step of a policy that allows no more than is said.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "hermetic/gate/policy.h"

namespace hermetic::gate {

inline Step step_of(const std::string& allow = "{}") {
  Result<Policy> policy = parse_policy(
      "schema_version: \"2\"\nhermetic_steps:\n  - {id: a, command: x, allow: " + allow + "}\n",
      "p.yml", "/");
  EXPECT_TRUE(policy) << (policy ? "" : to_string(policy.error()));
  return policy->steps.front();
}

}  // namespace hermetic::gate
