// Lowerings that are wrong in one way each. A test that does not notice them notices nothing.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "hermetic/backends/linux/kernel.h"
#include "hermetic/backends/linux/lower.h"

namespace hermetic::differential {

using linux_backend::Facts;
using linux_backend::lower;
using linux_backend::LoweredScript;
using linux_backend::Step;

inline LoweredScript lower_without(ViewEntry::Kind kind, Plan plan, const Facts& facts) {
  std::erase_if(plan.view, [&](const ViewEntry& entry) { return entry.kind == kind; });
  return lower(plan, facts);
}

// An exception is not masked.
inline LoweredScript show_exceptions(const Plan& plan, const Facts& facts) {
  return lower_without(ViewEntry::Kind::Hidden, plan, facts);
}

// An output is left out: what is around it shows through.
inline LoweredScript forget_outputs(const Plan& plan, const Facts& facts) {
  return lower_without(ViewEntry::Kind::Output, plan, facts);
}

// Outputs can be read back.
inline LoweredScript forget_strictness(const Plan& plan, const Facts& facts) {
  Plan changed = plan;
  changed.strict_outputs = false;
  return lower(changed, facts);
}

// The older mount calls seal in many steps; one kind of script is enough to break.
inline Facts with_new_mount_calls(Facts facts, bool landlock) {
  facts.classic_mounts = false;
  if (!landlock) facts.landlock_abi = 0;
  return facts;
}

// Inputs are bound and never made read only.
inline LoweredScript forget_to_seal(const Plan& plan, const Facts& facts, bool landlock) {
  LoweredScript script = lower(plan, with_new_mount_calls(facts, landlock));
  std::erase_if(script.steps, [](const Step& step) {
    return step.kind == Step::Kind::Attributes && std::string_view(step.target) == ".";
  });
  return script;
}
inline LoweredScript leave_inputs_writable(const Plan& plan, const Facts& facts) {
  return forget_to_seal(plan, facts, false);
}
inline LoweredScript leave_inputs_to_landlock(const Plan& plan, const Facts& facts) {
  return forget_to_seal(plan, facts, true);
}

// Outputs and temps are sealed with the rest and not opened again.
inline LoweredScript forget_to_open(const Plan& plan, const Facts& facts) {
  LoweredScript script = lower(plan, with_new_mount_calls(facts, true));
  std::erase_if(script.steps, [](const Step& step) { return step.kind == Step::Kind::Unseal; });
  return script;
}

// Directories around what must not change can be moved.
inline LoweredScript forget_to_pin(const Plan& plan, const Facts& facts) {
  LoweredScript script = lower(plan, with_new_mount_calls(facts, true));
  std::vector<std::string_view> pinned;
  for (const Step& step : script.steps)
    if (step.kind == Step::Kind::Bind && std::string_view(step.source) == step.target)
      pinned.emplace_back(step.target);
  const auto is_pinned = [&](const char* target) {
    return target != nullptr && std::find(pinned.begin(), pinned.end(), target) != pinned.end();
  };
  std::erase_if(script.steps, [&](const Step& step) {
    return (step.kind == Step::Kind::Bind || step.kind == Step::Kind::Unseal) &&
           is_pinned(step.target);
  });
  return script;
}

// The second line is narrower than the first.
inline LoweredScript forget_temps_in_landlock(const Plan& plan, const Facts& facts) {
  LoweredScript script = lower(plan, facts);
  std::erase_if(script.steps, [&](const Step& step) {
    return step.kind == Step::Kind::LandlockRule &&
           std::any_of(plan.view.begin(), plan.view.end(), [&](const ViewEntry& entry) {
             return entry.kind == ViewEntry::Kind::Temp && entry.path == step.target;
           });
  });
  return script;
}

}  // namespace hermetic::differential
