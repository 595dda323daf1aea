// hermetic check: are these spec files sound, and what do they say about a path?
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "hermetic/base/path.h"
#include "hermetic/plan/print.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {
namespace {

struct Question {
  std::vector<std::string> paths;  // --why
};

std::string summary_of(const Spec& spec) {
  int inputs = 0;
  int outputs = 0;
  int temps = 0;
  for (const Tree& tree : spec.trees()) {
    if (tree.built_in) continue;
    inputs += tree.declaration.kind == TreeKind::Input ? 1 : 0;
    outputs += tree.declaration.kind == TreeKind::Output ? 1 : 0;
    temps += tree.declaration.kind == TreeKind::Temp ? 1 : 0;
  }
  return fmt::format("{} inputs, {} outputs, {} temps, network {}, sha256:{}", inputs, outputs,
                     temps, to_string(spec.network.mode), spec.digest());
}

Result<void> check_draft(const std::string& name, const Draft& draft, const Question& question) {
  const Spec spec = TRY(SpecBuilder(draft).build());
  print(fmt::format("{}: ok: {}\n", name, summary_of(spec)));
  for (const std::string& text : question.paths) {
    const std::string path = TRY(normal_path(text));
    for (const Operation operation : {Operation::Read, Operation::Write, Operation::Execute})
      print("  " + explain(spec, path, operation) + "\n");
  }
  return {};
}

// Every target is checked, also after one has failed: people want the whole list.
int check_file(const std::string& file, const Question& question) {
  const Result<Project> project = load_project(file);
  if (!project) return report(project.error());
  int worst = kSuccess;
  const auto check = [&](const std::string& name, const Result<Draft>& draft) {
    if (!draft) {
      worst = std::max(worst, report(draft.error()));
      return;
    }
    const Result<void> done = check_draft(name, *draft, question);
    if (!done) worst = std::max(worst, report(done.error()));
  };
  if (project->targets.empty()) check(file, draft_of(*project, std::nullopt));
  for (const auto& [target, draft] : project->targets)
    check(fmt::format("{}: {}", file, target), draft_of(*project, target));
  return worst;
}

}  // namespace

const Subcommand& check_description() {
  static const Subcommand description{
      .name = "check",
      .synopsis = "[--why PATH]... FILE...",
      .summary = "Checks spec files and proves that their inputs, outputs and temps are disjoint.",
      .options = {
          {"--why", "PATH", "say which rule decides whether PATH may be read, written or executed"},
          {"--help", "", "show this help"}}};
  return description;
}

int check_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(check_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(check_description())), kSuccess;
  if (arguments->words.empty())
    return report(invalid("no file to check", "hermetic check FILE..."));
  Question question;
  for (const Given& given : arguments->options)
    if (given.name == "--why") question.paths.push_back(given.value);
  int worst = kSuccess;
  for (const std::string& file : arguments->words)
    worst = std::max(worst, check_file(file, question));
  return worst;
}

}  // namespace hermetic::cli
