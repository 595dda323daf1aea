// What is taken out of the events of these tests.
#pragma once

#include <map>
#include <string>

#include "hermetic/record/redaction.h"

namespace hermetic {

inline const Redaction& sample_redaction() {
  static const Redaction one(std::map<std::string, std::string>{{"A_TOKEN", "correct-horse"}});
  return one;
}

}  // namespace hermetic
