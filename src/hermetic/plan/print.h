// How a plan and a decision look to people and to programs.
#pragma once

#include <string>

#include "hermetic/plan/plan.h"

namespace hermetic {

enum class Color { Never, Always };

// A tree of the view, then environment, network, limits and the clauses with their strengths.
[[nodiscard]] std::string print_plan(const Plan& plan, Color color);

// docs/reference/plan.schema.json describes it; keys are sorted. Ends with a newline.
[[nodiscard]] std::string plan_as_json(const Plan& plan);

// One sentence: "/w/out/x may be written: output '/w/out' (hermetic.yaml:7:5)".
[[nodiscard]] std::string explain(const Spec& spec, std::string_view path, Operation operation);

}  // namespace hermetic
