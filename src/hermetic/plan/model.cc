#include "hermetic/plan/model.h"

namespace hermetic {

Capabilities model_capabilities() {
  Capabilities capabilities{.backend = "model", .clauses = {}};
  for (const Clause clause : all_clauses())
    capabilities.clauses[clause] = {.strength = Strength::Enforced, .mechanism = "by definition"};
  return capabilities;
}

}  // namespace hermetic
