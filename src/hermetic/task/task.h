// Task: a command in a fresh worktree and a fresh Python environment, sealed, recorded, and gone
// without a trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/engine/execute.h"
#include "hermetic/places/own_place.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/spec_builder.h"
#include "hermetic/task/checkout.h"
#include "hermetic/task/command_log.h"
#include "hermetic/task/durations.h"
#include "hermetic/task/host_environment.h"
#include "hermetic/task/host_view.h"
#include "hermetic/task/node_environment.h"
#include "hermetic/task/python_environment.h"
#include "hermetic/task/snapshot.h"
#include "hermetic/task/task_config.h"
#include "hermetic/workspace/cache.h"
#include "hermetic/workspace/changes.h"
#include "hermetic/workspace/listing.h"
#include "hermetic/workspace/run_folder.h"

namespace hermetic::task {

struct TaskRequest {
  std::string id;
  std::string run = {};  // what this run of it is called; empty: a new name
  std::string repository;
  std::vector<std::string> borrow = {};  // other folders whose objects it may use
  std::string revision = {};             // empty: HEAD
  std::string base = {};                 // a commit for the manifest; empty: the same
  std::vector<std::string> sparse = {};  // directories of it that are wanted; none: all
  std::optional<std::uint32_t> seed = {};
  std::string config = {};  // a file that names models, tokenizers, quantization; may be empty
  std::string scratch = "scratch";
  PythonRequest python = {};
  NodeRequest node = {};
  std::string from = {};  // the name of a snapshot to start from; empty: none
  // The command, limits, and what else it may read, reach or know. Its network is none unless it
  // says otherwise.
  Draft draft = {};

  [[nodiscard]] NamedRepository source() const { return {repository, borrow}; }
};

class Task {
 public:
  // Gets the checkout and the environment, from the cache or made now, and makes the run's folder.
  // What killed tasks have left is removed first.
  static Result<Task> set_up(const TaskRequest& request, Cache& cache, Backend& backend);

  // What the command will be given. `changes` of earlier commands of this task are there.
  [[nodiscard]] Result<Spec> spec() const;
  // Whether a command will be hermetic, as long as it tries nothing that is not allowed.
  [[nodiscard]] Result<bool> promises_to_be_hermetic(const Capabilities& capabilities) const;
  // The same with names that are the same for everyone: what its digest is made of.
  [[nodiscard]] Result<Spec> portable_spec() const;
  // The next command, and what it is given besides what the request gives to all of them.
  void set_command(std::vector<std::string> command, const Draft& more = {});
  // Its words, and the digest of all that decides what it does.
  [[nodiscard]] Result<GivenCommand> given() const;

  // Runs the command; may be called again. How it ended is in the log. `on_run` gets the run when
  // it is there, to be ended from another thread, and null before it goes.
  using OnRun = std::function<void(Run* run)>;
  [[nodiscard]] Result<Finished> run(Backend& backend, const RunOptions& options, EventSink& events,
                                     const OnRun& on_run = {});
  // The same, of spec() as it was planned.
  [[nodiscard]] Result<Outcome> run_plan(const Plan& plan, Backend& backend,
                                         const RunOptions& options, EventSink& events,
                                         const OnRun& on_run = {});
  // Whoever runs a command of this task by other means writes there what became of it.
  [[nodiscard]] const std::shared_ptr<CommandLog>& shared_log() const { return log_; }
  [[nodiscard]] const CommandLog& log() const { return *log_; }

  // Makes what worktree_path() and venv_path() name, for tools of the caller. Nothing is there
  // before. No command runs. What one side changes in the worktree the other sees from the next
  // command on; nothing is carried over between environments, nor what git keeps.
  [[nodiscard]] Result<void> show_worktree();
  [[nodiscard]] Result<void> show_environment(CallersNetwork network);
  // A caller that runs a command of this task by other means uses it before and after.
  [[nodiscard]] const std::shared_ptr<HostView>& host_view() const { return host_view_; }

  // What has become of the worktree and of the scratch folder so far.
  [[nodiscard]] Result<std::vector<Change>> changes() const;
  [[nodiscard]] Result<std::vector<ListedFile>> scratch_listing() const;

  // Fails unless a command was run and has ended, so that there is something to `doing`: "keep".
  [[nodiscard]] Result<void> check_done(std::string_view doing) const;
  // Fails while a command runs.
  [[nodiscard]] Result<void> check_idle(std::string_view doing) const;

  // Moves what the command changed in the worktree to a place that holds nothing yet: files as they
  // are now, removed ones as character devices 0:0.
  [[nodiscard]] Result<void> keep_changes(const OwnPlace& place);

  // Freezes what the commands so far have made of the worktree, the environment and the scratch
  // folder, under a name. Any number of tasks can start from it. Ends this one.
  [[nodiscard]] Result<void> freeze(const std::string& name, Cache& cache);

  // Removes everything on the host. Nothing but what was read before can be read after it.
  [[nodiscard]] Certificate clean_up();

  // SHA-256 over what decides what the commands do that there were, in their order; before the
  // first, what the one does that is set, and if none is, what all are given. Equal tasks, equal
  // hash, on any machine with the same system.
  [[nodiscard]] Result<std::string> stable_hash() const;

  [[nodiscard]] const TaskRequest& request() const { return request_; }
  [[nodiscard]] const Checkout& checkout() const { return checkout_; }
  // What the request calls the base; the commit itself if it does not.
  [[nodiscard]] const std::string& base_commit() const { return base_commit_; }
  [[nodiscard]] const PythonEnvironment& environment() const { return environment_; }
  [[nodiscard]] const std::optional<NodeEnvironment>& node() const { return node_; }
  [[nodiscard]] const std::optional<Snapshot>& snapshot() const { return snapshot_; }
  [[nodiscard]] const TaskConfig& config() const { return config_; }
  [[nodiscard]] const std::string& run_id() const { return folder_.run(); }
  [[nodiscard]] const std::string& scratch_path() const { return scratch_path_; }
  [[nodiscard]] std::string worktree_path() const { return scratch_path_ + "/worktree"; }
  [[nodiscard]] std::string venv_path() const { return scratch_path_ + "/venv"; }
  [[nodiscard]] Durations durations() const;

 private:
  Task(TaskRequest request, Checkout checkout, PythonEnvironment environment, TaskConfig config,
       RunFolder folder);

  // One layer over another, as they are called on this host or everywhere.
  struct Layers {
    std::vector<std::string> worktree;
    std::vector<std::string> environment;
    std::vector<std::string> scratch;
    std::string changes;                   // the folder that keeps them; empty: nothing is kept
    std::vector<std::string> inputs = {};  // of the interpreter
  };
  [[nodiscard]] Result<void> keep_changes_of_copy(const std::string& upper, const OwnPlace& place);
  [[nodiscard]] Layers layers() const;
  [[nodiscard]] Layers portable_layers() const;
  [[nodiscard]] SpecBuilder builder(const Layers& layers, const Draft& draft) const;
  [[nodiscard]] Result<GivenCommand> given_to_all() const;
  // Where the changes of the worktree and of the environment are kept. A command can change a
  // repository in there: no path that a caller gets leads to it.
  [[nodiscard]] std::string worktree_changes() const { return scratch_path_ + kWorktreeChanges; }
  static constexpr const char* kWorktreeChanges = "/worktree-changes";

  TaskRequest request_;
  Draft draft_;
  Checkout checkout_;
  std::string base_commit_;
  PythonEnvironment environment_;
  TaskConfig config_;
  std::optional<NodeEnvironment> node_;
  std::optional<Snapshot> snapshot_;
  RunFolder folder_;
  std::string scratch_path_;  // also when the folder is gone
  Durations durations_;       // those of commands are in the log
  std::shared_ptr<CommandLog> log_ = std::make_shared<CommandLog>();
  std::shared_ptr<HostView> host_view_;
};

// Machine, platform and Python, as facts of this host.
[[nodiscard]] std::map<std::string, std::string> os_fingerprint(const std::string& python_version);

}  // namespace hermetic::task
