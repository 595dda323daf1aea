// hermetic: runs any command with exactly the files, network and limits it was given.
#include <fmt/format.h>

#include <array>
#include <string_view>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "hermetic/base/standard_descriptors.h"
#include "hermetic/base/text.h"

namespace hermetic::cli {
namespace {

#ifndef HERMETIC_VERSION
#error "the build defines HERMETIC_VERSION"
#endif

constexpr std::array kCommands = {
    Command{check_description, check_main},
    Command{diff_description, diff_main},
    Command{doctor_description, doctor_main},
    Command{gate_description, gate_main},
    Command{gc_description, gc_main},
    Command{key_description, key_main},
    Command{learn_description, learn_main},
    Command{plan_description, plan_main},
    Command{run_description, run_main},
    Command{shell_description, shell_main},
    Command{task_description, task_main},
    Command{verify_evidence_description, verify_evidence_main},
};

std::string overview() {
  std::string text =
      "usage: hermetic COMMAND [OPTION]...\n"
      "\n"
      "Runs any command with exactly the files, network and limits it was given.\n"
      "\n"
      "commands:\n";
  for (const Command& command : kCommands)
    text +=
        fmt::format("  {:<15}  {}\n", command.description().name, command.description().summary);
  return text +
         "  help             Shows this help, or that of a command.\n"
         "  version          Shows the version.\n"
         "\n"
         "'hermetic COMMAND --help' shows the options of a command.\n";
}

const Command* command_named(std::string_view name) {
  for (const Command& command : kCommands)
    if (command.description().name == name) return &command;
  return nullptr;
}

int unknown_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.description().name);
  const std::string_view near = closest(name, names);
  return report(
      invalid(fmt::format("unknown command '{}'", printable(name)),
              near.empty() ? "see 'hermetic help'" : fmt::format("did you mean '{}'?", near)));
}

int help(std::span<char* const> words) {
  if (words.empty()) return print(overview()), kSuccess;
  const Command* command = command_named(words.front());
  if (command == nullptr) return unknown_command(words.front());
  return print(help_for(command->description())), kSuccess;
}

int dispatch(std::span<char* const> words) {
  if (words.empty()) return print(overview()), kBadUsage;
  const std::string_view name = words.front();
  if (name == "--version" || name == "version")
    return print("hermetic " HERMETIC_VERSION "\n"), kSuccess;
  if (name == "--help" || name == "-h" || name == "help") return help(words.subspan(1));
  const Command* command = command_named(name);
  if (command == nullptr) return unknown_command(name);
  return command->main(words.subspan(1));
}

}  // namespace
}  // namespace hermetic::cli

int main(int count, char** words) {
  if (count < 1) return hermetic::cli::kBadUsage;
  if (!hermetic::open_standard_descriptors()) return hermetic::cli::kFailed;
  return hermetic::cli::dispatch({words + 1, static_cast<std::size_t>(count - 1)});
}
