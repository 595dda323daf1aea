// hermetic plan: shows exactly what a command would see, without running it.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/spec_options.h"
#include "hermetic/plan/print.h"

namespace hermetic::cli {

const Subcommand& plan_description() {
  static const Subcommand description = [] {
    Subcommand plan{
        .name = "plan",
        .synopsis = "[TARGET] [OPTION]... [-- COMMAND...]",
        .summary = "Shows what the command would see and which promises hold; runs nothing.",
        .options = spec_options()};
    plan.options.push_back(
        {"--backend", "NAME", "linux (default here) or model, which gives every clause"});
    plan.options.push_back({"--json", "", "print JSON (docs/reference/plan.schema.json)"});
    plan.options.push_back({"--color", "WHEN", "auto (default), always or never"});
    plan.options.push_back({"--help", "", "show this help"});
    return plan;
  }();
  return description;
}

int plan_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(plan_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(plan_description())), kSuccess;
  const Result<Spec> spec = spec_from(*arguments);
  if (!spec) return report(spec.error());
  const Result<Capabilities> capabilities = capabilities_of(arguments->last("--backend"));
  if (!capabilities) return report(capabilities.error());
  const Result<Plan> plan = make_plan(*spec, *capabilities);
  if (!plan) return report(plan.error());
  print(arguments->has("--json")
            ? plan_as_json(*plan)
            : print_plan(*plan, color_for(arguments->last("--color"), STDOUT_FILENO)));
  return kSuccess;
}

}  // namespace hermetic::cli
