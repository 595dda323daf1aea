#include "cli/task_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/spec_options.h"
#include "hermetic/base/text.h"

namespace hermetic::cli {
namespace {

Result<std::optional<std::uint32_t>> seed_of(const Arguments& arguments) {
  if (!arguments.has("--seed")) return std::optional<std::uint32_t>();
  const std::string text = arguments.last("--seed");
  std::uint32_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid(fmt::format("'{}' is no seed", printable(text)),
                   "write a number from 0 to 4294967295");
  return std::optional(seed);
}

// Options that one of the acts could do nothing with: who gives them expects something.
struct Meaningless {
  std::string_view act;
  std::string_view option;
  std::string_view remedy;
};
constexpr std::string_view kForBatch = "it is for 'hermetic task batch'";
constexpr std::string_view kForOneRun = "it is for 'hermetic task run'";
constexpr std::string_view kForRun = "it is for 'hermetic task run' and 'hermetic task batch'";
constexpr std::string_view kCache = "it is prepared in the cache, which HERMETIC_CACHE names";
constexpr std::array<Meaningless, 23> kMeaningless = {{
    {"run", "--out", kForBatch},
    {"run", "--jobs", kForBatch},
    {"run", "--retries", kForBatch},
    {"batch", "--json", "each task has its manifest.json and a line in results.jsonl"},
    {"snapshot", "--json", kForOneRun},
    {"selftest", "--json", kForOneRun},
    {"batch", "--manifest", "each task has its manifest.json below --out"},
    {"snapshot", "--out", kForBatch},
    {"snapshot", "--jobs", kForBatch},
    {"snapshot", "--retries", kForBatch},
    {"snapshot", "--manifest", kForRun},
    {"snapshot", "--metrics", kForRun},
    {"snapshot", "--evidence", kForRun},
    {"snapshot", "--key", kForRun},
    {"snapshot", "--keep-changes", "a snapshot keeps them; start from it with --from"},
    {"snapshot", "--scratch", kCache},
    {"selftest", "--out", kForBatch},
    {"selftest", "--jobs", kForBatch},
    {"selftest", "--retries", kForBatch},
    {"selftest", "--evidence", kForRun},
    {"selftest", "--key", kForRun},
    {"selftest", "--events", kForRun},
    {"selftest", "--keep-changes", kForRun},
}};

}  // namespace

void complain_of_missing_submodules(const std::vector<std::string>& names,
                                    const std::string& repository) {
  if (names.empty()) return;
  complain({.message = fmt::format("submodules that the repository lacks are empty: {}",
                                   fmt::join(printable_all(names), ", ")),
            .hint = fmt::format("git -C {} submodule update --init fetches them",
                                repository.empty() ? "." : printable(repository))});
}

Result<void> check_lockfile(const Arguments& arguments) {
  for (const char* option : {"--wheels", "--index"})
    if (arguments.has(option) && !arguments.has("--lockfile"))
      return invalid(fmt::format("{} without --lockfile", option),
                     "name what is to be installed from there");
  return {};
}

Result<void> check_options_of_act(std::string_view act, const Arguments& arguments) {
  for (const Meaningless& row : kMeaningless)
    if (row.act == act && arguments.has(row.option))
      return invalid(fmt::format("'hermetic task {}' takes no {}", act, row.option),
                     std::string(row.remedy));
  if (arguments.has("--key") && !arguments.has("--evidence"))
    return invalid("--key without --evidence", "there is nothing to sign");
  if (arguments.has("--npm-cache") && !arguments.has("--node-lockfile"))
    return invalid("--npm-cache without --node-lockfile", "name what is to be installed from it");
  return act == "batch" ? Result<void>() : check_lockfile(arguments);
}

Result<task::TaskRequest> task_request(const Arguments& arguments, NeedsId needs_id) {
  task::TaskRequest request;
  request.draft = TRY(draft_of_options(arguments));
  if (arguments.has("--spec"))
    return invalid("'hermetic task' takes no --spec", "say what it needs with options");
  request.id = arguments.last("--task-id");
  if (request.id.empty() && needs_id == NeedsId::Yes)
    return invalid("no task", "name it with --task-id");
  request.repository = TRY(absolute_path(arguments.has("--repo") ? arguments.last("--repo") : "."));
  request.revision = arguments.last("--sha");
  request.base = arguments.last("--base-sha");
  request.seed = TRY(seed_of(arguments));
  request.config = arguments.last("--config");
  request.from = arguments.last("--from");
  if (arguments.has("--scratch")) request.scratch = arguments.last("--scratch");
  request.python.lockfile = arguments.last("--lockfile");
  if (arguments.has("--python")) request.python.interpreter = arguments.last("--python");
  for (const Given& given : arguments.options) {
    if (given.name == "--borrow") request.borrow.push_back(TRY(absolute_path(given.value)));
    if (given.name == "--sparse") request.sparse.push_back(given.value);
    if (given.name == "--wheels") request.python.wheels.push_back(TRY(absolute_path(given.value)));
  }
  request.node = {.lockfile = arguments.last("--node-lockfile"),
                  .cache = arguments.last("--npm-cache")};
  request.python.index = arguments.last("--index");
  return request;
}

const Subcommand& task_description() {
  static const Subcommand description = [] {
    Subcommand task{
        .name = "task",
        .synopsis = "run|selftest|batch FILE|snapshot NAME [OPTION]... [-- COMMAND...]",
        .summary = "Runs a command in a fresh worktree and a fresh Python environment.",
        .options = {
            {"--repo", "DIR", "the git repository (the current directory)"},
            {"--borrow", "DIR",
             "another folder that the repository may take objects from; can be given again"},
            {"--sha", "COMMIT", "which commit of it; HEAD if not said"},
            {"--base-sha", "COMMIT", "for the manifest: what that commit is compared with"},
            {"--sparse", "DIR",
             "only this directory of it, and what is at its top; can be given again"},
            {"--task-id", "ID", "what the task is called"},
            {"--seed", "NUMBER", "for PYTHONHASHSEED and HERMETIC_SEED (0)"},
            {"--lockfile", "FILE", "pinned requirements of the Python environment"},
            {"--wheels", "DIR", "a directory in which the packages are"},
            {"--index", "URL", "where packages are that are not there"},
            {"--python", "PROGRAM", "the interpreter (/usr/bin/python3)"},
            {"--node-lockfile", "FILE", "a package-lock.json; its packages are in node_modules"},
            {"--npm-cache", "DIR", "npm's cache, in which those packages are"},
            {"--config", "FILE", "names models, tokenizers and quantization for the manifest"},
            {"--from", "NAME", "start from what 'task snapshot NAME' has made"},
            {"--scratch", "DIR", "where the folder of the run is while it lasts (scratch)"},
            {"--manifest", "FILE", "write down what was run, how, and what came of it (not batch)"},
            {"--metrics", "FILE", "write down how long it all took"},
            {"--json", "FILE", "run: write the outcome to FILE (- is standard output)"},
            {"--keep-changes", "DIR",
             "keep what the command changed in the worktree in DIR (batch: a name in each folder)"},
            {"--evidence", "DIR",
             "leave a folder that others can check: DIR (batch: a name in each folder)"},
            {"--key", "FILE", "sign the evidence"},
            {"--events", "FILE",
             "write a line of JSON to FILE for each event (batch: a name in each folder)"},
            {"--prove", "", "first try inside what must fail there"},
            {"--out", "DIR",
             "batch: the folder of the results; one that was begun is gone on with"},
            {"--jobs", "COUNT", "batch: so many at once (as many as there are processors)"},
            {"--retries", "COUNT",
             "batch: how often to try again what could not be set up (1); never a command"},
            {"--quiet", "", "say nothing about how the run ended"},
        }};
    for (const Option& option : spec_options())
      if (option.name != "--spec" && option.name != "--dir" && option.name != "--toolchain")
        task.options.push_back(option);
    task.options.push_back({"--help", "", "show this help"});
    return task;
  }();
  return description;
}

}  // namespace hermetic::cli
