#include "hermetic/task/task.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/layered_copy.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unlocked.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/secret_names.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"
#include "hermetic/task/preparation.h"
#include "hermetic/workspace/kept_changes.h"

namespace hermetic::task {
namespace {

using Clock = std::chrono::steady_clock;

Ground ground_of(const Checkout& checkout, const PythonEnvironment& environment,
                 const std::optional<NodeEnvironment>& node) {
  Ground ground{
      .commit = checkout.commit,
      .directories = {},
      .missing_submodules = fmt::format("{}", fmt::join(checkout.missing_submodules, " ")),
      .environment = environment.hash,
      .packages = node ? node->hash : ""};
  for (const std::string& directory : checkout.directories)
    ground.directories +=
        fmt::format("{}'{}'", ground.directories.empty() ? "" : " ", printable(directory));
  return ground;
}

// What git keeps is none of the changes. As long as those are not kept it is not given up either:
// the commits of whoever works in the task are there.
Result<void> move_git(const std::string& upper, const std::string& from, const std::string& to) {
  const Unlocked unlocked(AT_FDCWD, upper);
  const auto failed = [&] {
    return system_error(fmt::format("cannot move '{}'", printable(from)), errno);
  };
  struct stat status = {};
  if (::lstat(from.c_str(), &status) != 0) return errno == ENOENT ? Result<void>() : failed();
  // Who may not write to a directory cannot tell it that it lies elsewhere.
  const bool is_locked = S_ISDIR(status.st_mode) && (status.st_mode & S_IWUSR) == 0;
  const mode_t mode = status.st_mode & 07777U;
  if (is_locked && ::chmod(from.c_str(), mode | S_IWUSR) != 0) return failed();
  if (::rename(from.c_str(), to.c_str()) != 0) return failed();
  if (is_locked && ::chmod(to.c_str(), mode) != 0) return failed();
  return {};
}

}  // namespace

Task::Task(TaskRequest request, Checkout checkout, PythonEnvironment environment, TaskConfig config,
           RunFolder folder)
    : request_(std::move(request)),
      draft_(request_.draft),
      checkout_(std::move(checkout)),
      environment_(std::move(environment)),
      config_(std::move(config)),
      folder_(std::move(folder)),
      scratch_path_(folder_.path()),
      host_view_(std::make_shared<HostView>(worktree_changes(), worktree_path())) {}

Result<Task> Task::set_up(const TaskRequest& request, Cache& cache, Backend& backend) {
  const Clock::time_point begin = Clock::now();
  TRY(check_task_name(request.id));
  TaskConfig config = TRY(load_task_config(request.config, cache.contents()));
  const Clock::time_point checkout_begin = Clock::now();
  Checkout checkout =
      TRY(check_out(request.source(), request.revision, request.sparse, cache, backend));
  const Clock::time_point checkout_end = Clock::now();
  std::string base = checkout.commit;
  if (!request.base.empty() && request.base != base)
    base = TRY(find_commit(request.source(), request.base, backend));
  const Clock::time_point environment_begin = Clock::now();
  PythonEnvironment environment = TRY(python_environment(request.python, cache, backend));
  const Clock::time_point environment_end = Clock::now();
  std::optional<NodeEnvironment> node;
  if (!request.node.lockfile.empty()) node = TRY(node_environment(request.node, cache, backend));
  std::optional<Snapshot> snapshot;
  if (!request.from.empty())
    snapshot = TRY(find_snapshot(request.from, ground_of(checkout, environment, node), cache));
  const std::string journals = cache.path() + "/journals";
  (void)remove_abandoned_runs(journals);
  RunFolder folder = TRY(RunFolder::make(request.scratch, request.id, journals, request.run));
  for (const char* name : {"worktree-changes", "venv-changes", "scratch", "empty"})
    (void)TRY(folder.add(name));
  Task task(request, std::move(checkout), std::move(environment), std::move(config),
            std::move(folder));
  task.base_commit_ = std::move(base);
  task.node_ = std::move(node);
  task.snapshot_ = std::move(snapshot);
  task.durations_ = {.setup = Clock::now() - begin,
                     .checkout = checkout_end - checkout_begin,
                     .environment = environment_end - environment_begin};
  return task;
}

Task::Layers Task::layers() const {
  Layers layers{.worktree = {checkout_.cached.path},
                .environment = {environment_.cached.path},
                .scratch = {scratch_path_ + "/empty"},
                .changes = scratch_path_,
                .inputs = environment_.inputs};
  if (node_) layers.worktree.insert(layers.worktree.begin(), node_->cached.path);
  if (!snapshot_) return layers;
  const auto put_above = [&](std::vector<std::string>& below, const char* part) {
    std::vector<std::string> above;
    for (const CachedTree& layer : snapshot_->layers)
      above.push_back(fmt::format("{}/{}", layer.path, part));
    below.insert(below.begin(), above.begin(), above.end());
  };
  put_above(layers.worktree, "worktree");
  put_above(layers.environment, "venv");
  layers.scratch.clear();
  put_above(layers.scratch, "scratch");
  return layers;
}

SpecBuilder Task::builder(const Layers& layers, const Draft& draft) const {
  const auto changes = [&](const char* name) {
    return layers.changes.empty() ? "" : fmt::format("{}/{}", layers.changes, name);
  };
  Draft base;
  const std::string seed = std::to_string(request_.seed.value_or(0));
  base.environment.set = {
      {"PATH", fmt::format("{}/bin:/usr/local/bin:/usr/bin:/bin", kEnvironment)},
      {"VIRTUAL_ENV", kEnvironment},
      {"PYTHONHASHSEED", seed},
      {"HERMETIC_SEED", seed},
      {"HERMETIC_TASK_ID", request_.id},
      {"HERMETIC_SCRATCH", kScratch},
      {"HERMES_HERMETIC", "1"}};
  base.directory = kWorktree;
  SpecBuilder result(base);
  for (const std::string& directory : toolchain_directories()) result.input(directory);
  for (const std::string& path : layers.inputs) result.input(path);
  result.temp_over(kWorktree, layers.worktree, changes("worktree-changes"))
      .temp_over(kEnvironment, layers.environment, changes("venv-changes"))
      .temp_over(kScratch, layers.scratch, changes("scratch"))
      .overlay(draft);
  return result;
}

void Task::set_command(std::vector<std::string> command, const Draft& more) {
  draft_ = overlay(request_.draft, more);
  draft_.command = std::move(command);
}

Result<Spec> Task::spec() const { return builder(layers(), draft_).build(); }

Result<bool> Task::promises_to_be_hermetic(const Capabilities& capabilities) const {
  Draft draft = request_.draft;
  draft.command = {"true"};
  const Spec spec = TRY(builder(layers(), draft).build());
  const Plan plan = TRY(make_plan(spec, capabilities));
  return plan.hermetic();
}

Task::Layers Task::portable_layers() const {
  std::string checkout = "/task/checkout/" + checkout_.commit;
  for (const std::string& directory : checkout_.directories) checkout += "/" + sha256(directory);
  Layers names{.worktree = {checkout},
               .environment = {"/task/environment/" + environment_.hash},
               .scratch = {"/task/empty"},
               .changes = {}};
  if (node_) names.worktree.push_back("/task/node/" + node_->hash);
  if (snapshot_) names.scratch = {"/task/snapshot/" + snapshot_->hash};
  return names;
}

Result<Spec> Task::portable_spec() const {
  return builder(portable_layers(), draft_).lookup(look_up_by_name).build();
}

Result<GivenCommand> Task::given_to_all() const {
  Draft draft = request_.draft;
  draft.command = {"true"};  // a spec needs one
  const Spec spec = TRY(builder(portable_layers(), draft).lookup(look_up_by_name).build());
  return GivenCommand{.words = {}, .digest = spec.digest()};
}

Result<GivenCommand> Task::given() const {
  const Spec portable = TRY(portable_spec());
  // The spec has the names of what is passed on, not the values. Those of secrets have no part in
  // it: whoever tries all would find a weak one.
  std::string passed;
  for (const auto& [name, value] : portable.variables())
    if (portable.environment.pass.contains(name) && !is_secret_variable(name))
      passed += fmt::format("{}={}\n", name, sha256(value));
  return GivenCommand{
      .words = draft_.command,
      .digest = passed.empty() ? portable.digest() : sha256(portable.digest() + passed)};
}

Result<Finished> Task::run(Backend& backend, const RunOptions& options, EventSink& events,
                           const OnRun& on_run) {
  const Spec whole = TRY(spec());
  Finished finished {
    .plan = TRY(make_plan(whole, backend.probe()))
    , .outcome = {}
  };
  finished.outcome = TRY(run_plan(finished.plan, backend, options, events, on_run));
  return finished;
}

Result<Outcome> Task::run_plan(const Plan& plan, Backend& backend, const RunOptions& options,
                               EventSink& events, const OnRun& on_run) {
  GivenCommand command = TRY(given());
  TRY(host_view_->bring_in());
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<Run> run = TRY(backend.start(plan, options, events));
  const std::size_t number = log_->add(std::move(command), Clock::now() - begin);
  if (on_run) on_run(run.get());
  Result<Outcome> outcome = run->wait();
  if (on_run) on_run(nullptr);
  host_view_->bring_out();
  if (!outcome) {
    log_->give_up(number);
    return outcome;
  }
  CommandEnd end{.exit_code = {},
                 .failure = failure_of(plan, *outcome),
                 .hermetic = was_hermetic(plan, *outcome)};
  if (const auto* exited = std::get_if<Exited>(&outcome->ending)) end.exit_code = exited->code;
  log_->end(number, end, Clock::now() - begin);
  return outcome;
}

Durations Task::durations() const {
  Durations durations = durations_;
  for (const LoggedCommand& command : log_->commands()) {
    durations.guard += command.guard;
    durations.command += command.time;
  }
  return durations;
}

Result<void> Task::show_worktree() {
  TRY(check_idle("show the worktree"));
  return host_view_->show_worktree(layers().worktree, checkout_.cached.path);
}

Result<void> Task::show_environment(CallersNetwork network) {
  return task::show_environment(environment_.cached.path, kEnvironment, venv_path(), network);
}

// Nothing is there before the first command.
Result<std::vector<Change>> Task::changes() const {
  const std::string upper = worktree_changes() + "/upper";
  if (!is_present(upper)) return std::vector<Change>();
  if (!log_->is_busy()) TRY(host_view_->bring_in());
  return changes_in(upper, layers().worktree, {".git"});
}

Result<std::vector<ListedFile>> Task::scratch_listing() const {
  const std::string upper = scratch_path_ + "/scratch/upper";
  if (!is_present(upper)) return std::vector<ListedFile>();  // before the first command
  return list_layers(upper, layers().scratch);
}

// Something was run, and nothing runs: what is moved while somebody writes to it would be something
// else a moment later.
Result<void> Task::check_done(std::string_view doing) const {
  if (log_->commands().empty())
    return invalid(fmt::format("nothing was run in the task yet: there is nothing to {}", doing),
                   "run a command that makes something first");
  return check_idle(doing);
}

Result<void> Task::check_idle(std::string_view doing) const {
  if (!log_->is_busy()) return {};
  return invalid(fmt::format("cannot {}: a command of the task is still running", doing),
                 "wait for it, or end it, first");
}

// It stays as it is until they are kept.
Result<void> Task::keep_changes_of_copy(const std::string& upper, const OwnPlace& place) {
  const std::vector<Change> changed = TRY(changes());
  const std::string gathered = worktree_changes() + "/changed";
  Result<void> kept = copy_changes(upper, changed, gathered);
  if (kept) kept = move_changes(gathered, place);
  TRY(remove_tree(AT_FDCWD, kept ? upper : gathered));
  return kept;
}

Result<void> Task::keep_changes(const OwnPlace& place) {
  TRY(check_done("keep"));
  TRY(host_view_->bring_in());
  const std::string upper = worktree_changes() + "/upper";
  if (!is_present(upper))
    return invalid("the changes of the task were kept already", "run another command first");
  if (is_copy(upper)) {
    TRY(keep_changes_of_copy(upper, place));
    host_view_->forget();
    return {};
  }
  const std::string aside = worktree_changes() + "/git";
  TRY(move_git(upper, upper + "/.git", aside));
  if (Result<void> kept = move_changes(upper, place); !kept) {
    TRY(move_git(upper, aside, upper + "/.git"));
    return kept;
  }
  return remove_tree(AT_FDCWD, aside);
}

Result<void> Task::freeze(const std::string& name, Cache& cache) {
  TRY(check_done("freeze"));
  TRY(host_view_->bring_in());
  // Two setups of one task may have made different things.
  std::string content = TRY(stable_hash());
  const std::vector<std::pair<std::string, std::vector<std::string>>> parts = {
      {"worktree", layers().worktree},
      {"venv", layers().environment},
      {"scratch", layers().scratch}};
  for (const auto& [part, below] : parts) {
    const std::string upper = changes_of(scratch_path_, part);
    // As a layer it has nothing but its marks, which the command could change.
    if (is_copy(upper)) TRY(mark_as_whole(upper));
    const std::vector<Change> changed = TRY(changes_in(upper, below));
    for (const Change& change : changed) {
      if (change.unlisted)
        return unsupported(fmt::format("the {} lies too deep to be frozen", part),
                           fmt::format("nest at most {} directories", kDeepestTree));
      const bool is_there = change.kind != Change::Kind::Removed;
      if (is_there && change.type == "file" && change.digest.empty())
        return unsupported(
            fmt::format("'{}' cannot be frozen: it has no digest", printable(change.path)),
            "it is mostly holes, or cannot be read");
      if (!change.path.starts_with(".git/"))  // has the times of commits and of files in it
        content += fmt::format("{} {} {} {:o} {}\n", part, to_string(change.kind),
                               printable(change.path), change.mode, change.digest);
    }
  }
  TRY(keep_snapshot(name, sha256(content), scratch_path_, ground_of(checkout_, environment_, node_),
                    snapshot_ ? &*snapshot_ : nullptr, cache));
  (void)clean_up();
  return {};
}

Certificate Task::clean_up() {
  const Clock::time_point begin = Clock::now();
  Certificate certificate = folder_.remove();
  durations_.cleanup = Clock::now() - begin;
  return certificate;
}

Result<std::string> Task::stable_hash() const {
  std::vector<LoggedCommand> commands = log_->commands();
  if (commands.empty()) {
    commands.emplace_back();
    commands.back().given = TRY(draft_.command.empty() ? given_to_all() : given());
  }
  nlohmann::json described = nlohmann::json::array();
  for (const LoggedCommand& command : commands) {
    // As text; the digest knows the very bytes.
    described.push_back(
        {{"command", printable_all(command.given.words)}, {"spec", command.given.digest}});
  }
  nlohmann::json parts = {
      {"task_id", request_.id},          {"repo_sha", checkout_.commit},
      {"base_sha", base_commit_},        {"tree", checkout_.tree},
      {"venv_hash", environment_.hash},  {"os_fingerprint", os_fingerprint(environment_.version)},
      {"commands", std::move(described)}};
  parts["seed"] = request_.seed ? nlohmann::json(*request_.seed) : nlohmann::json();
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
  };
  parts["submodules_missing"] = printable_all(checkout_.missing_submodules);
  parts["config_hash"] = text_or_null(config_.hash);
  const auto map_or_empty = [](const std::optional<std::map<std::string, std::string>>& map) {
    return map.value_or(std::map<std::string, std::string>());
  };
  parts["model_shas"] = map_or_empty(config_.model_shas);
  parts["tokenizer_shas"] = map_or_empty(config_.tokenizer_shas);
  parts["lockfile_sha"] = text_or_null(environment_.lockfile_sha);
  return sha256(canonical_json(parts));
}

std::map<std::string, std::string> os_fingerprint(const std::string& python_version) {
  utsname name = {};
  ::uname(&name);
  return {{"machine", name.machine},
          {"platform", fmt::format("{}-{}-{}-with-glibc{}", name.sysname, name.release,
                                   name.machine, ::gnu_get_libc_version())},
          {"processor", name.machine},
          {"python_version", python_version}};
}

}  // namespace hermetic::task
