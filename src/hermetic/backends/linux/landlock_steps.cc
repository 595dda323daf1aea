#include "hermetic/backends/linux/landlock_steps.h"

#include "hermetic/backends/linux/landlock_rules.h"

namespace hermetic::linux_backend {
namespace {

Step step_for(LoweredScript& script, const LandlockRule& rule) {
  switch (rule.kind) {
    case LandlockRule::Kind::Begin:
      return {.kind = Step::Kind::Landlock, .number = rule.rights, .second = rule.scope};
    case LandlockRule::Kind::Path:
      return {.kind = Step::Kind::LandlockRule,
              .target = script.keep(rule.path),
              .number = rule.rights};
    case LandlockRule::Kind::Enforce: break;
  }
  return {.kind = Step::Kind::LandlockEnforce};
}

}  // namespace

void add_landlock_steps(LoweredScript& script, const Plan& plan, const Facts& facts) {
  for (const LandlockRule& rule : landlock_rules(plan, facts.landlock_abi))
    script.steps.push_back(step_for(script, rule));
}

}  // namespace hermetic::linux_backend
