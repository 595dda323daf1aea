// The Linux backend: namespaces, mounts, seccomp and Landlock, as root and as a plain user alike.
#pragma once

#include <memory>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/monitor/control_group.h"
#include "hermetic/run/backend.h"

namespace hermetic {

class LinuxBackend final : public Backend {
 public:
  // Which system calls build the view; New is what every kernel since 5.12 has.
  enum class Mounts { New, Classic, Detect };

  // Whether control groups are used where there are any.
  enum class Groups { Detect, None };

  // What keeps a command from changing the layers of a temp.
  enum class Layers { Detect, Copy };

  static Result<LinuxBackend> make(Mounts mounts = Mounts::Detect, Groups groups = Groups::Detect,
                                   Layers layers = Layers::Detect);

  [[nodiscard]] std::string_view name() const override { return "linux"; }
  // Cheap: a clause that this says is enforced is put in force step by step when a run starts, and
  // a step that fails ends it before the command runs. "hermetic doctor" tries them all.
  [[nodiscard]] Capabilities probe() const override;
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;

 private:
  LinuxBackend(UniqueFd init, bool classic_mounts, bool copies_layers, int landlock_abi,
               ControlGroups groups)
      : init_(std::move(init)),
        classic_mounts_(classic_mounts),
        copies_layers_(copies_layers),
        landlock_abi_(landlock_abi),
        groups_(std::move(groups)) {}

  UniqueFd init_;
  bool classic_mounts_;
  bool copies_layers_;
  int landlock_abi_;
  ControlGroups groups_;
};

}  // namespace hermetic
