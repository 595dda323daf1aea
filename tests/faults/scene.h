// A folder of its own file system with inputs and outputs of all kinds, a run over it, and what
// must be true of the folder after any fault.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/faults/tracer.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {

// By path: the mode and the content of everything below a folder.
using Snapshot = std::map<std::string, std::string>;
Snapshot snapshot_of(const std::string& folder);

// Needs mounts of its own: see ask_with_own_mounts().
class Scene {
 public:
  enum class Outputs {
    Whole,       // a directory and a file, each published by one rename
    One,         // a directory only, published by one rename
    Merged,      // one that is merged
    Carved,      // one with an exception
    Mounted,     // one whose destination is a mount point
    Copied,      // two that are prepared on another file system
    Made,        // one whose parents are not there
    EveryWay,    // all of these
    KeptFailed,  // those of a command that fails, which are kept
  };
  struct Kind {
    Outputs outputs = Outputs::Whole;
    Mounts mounts = Mounts::New;
    bool terminal = false;  // of its own, and observed: what else init and the child can do
    bool program = false;   // hermetic itself, not the library
    bool hosts = false;     // an allow list, and so the guard
  };

  explicit Scene(const Kind& kind);
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene();

  // Why there is no scene, or nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // Puts everything back as it was before the first run.
  void restore();

  // A run with one fault, and every complaint about what it leads to.
  struct Trial {
    Traced traced;
    std::vector<std::string> complaints;
  };
  Trial attempt(const Fault& fault);

  // A run that was killed like this, of which everything is left; what was there is put back.
  Traced interrupt(const Fault& fault);
  // What a later run does before anything else, as a run of its own that publishes nothing, and
  // complaints about what it leaves: everything is as before the run that was killed, or published.
  [[nodiscard]] std::vector<std::string> complaints_after_recovery() const;

  // Of a run without any fault, which must have gone well.
  [[nodiscard]] const std::map<Role, std::vector<long>>& calls() const { return calls_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const Spec& spec() const { return *spec_; }
  [[nodiscard]] Result<RunOptions> options() const;
  [[nodiscard]] Mounts mounts() const { return kind_.mounts; }

 private:
  void fill() const;
  void empty() const;
  [[nodiscard]] SpecBuilder builder() const;
  [[nodiscard]] std::string first_run();
  // The run, in the process that calls it: "ended CODE" or "error MESSAGE", and a line for each
  // descriptor or process that it leaves behind.
  [[nodiscard]] std::string act() const;
  [[nodiscard]] std::string execute_program() const;
  [[nodiscard]] Traced run(const Fault& fault, Record record) const;
  [[nodiscard]] std::vector<std::string> complaints_about(const Fault& fault,
                                                          const Traced& traced) const;
  [[nodiscard]] std::vector<std::string> complaints_after_kill(const Snapshot& now) const;
  [[nodiscard]] bool has(Outputs outputs) const;

  Kind kind_;
  TempDir dir_;
  std::string folder_;
  std::string problem_;
  std::optional<Spec> spec_;
  std::optional<Spec> failing_spec_;  // the same, for a command that fails
  UniqueFd printed_;                  // what the program prints
  Snapshot before_;
  Snapshot after_success_;
  std::set<std::string> mounts_before_;
  std::map<Role, std::vector<long>> calls_;
  std::string usual_answer_;
};

}  // namespace hermetic
