// The Linux backend: namespaces, mounts, seccomp and Landlock, as root and as a plain user alike.
#pragma once

#include <memory>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/monitor/control_group.h"
#include "hermetic/run/backend.h"

namespace hermetic {

enum class Layering;  // hermetic/outputs/change_places.h

class LinuxBackend final : public Backend {
 public:
  // Which system calls build the view; New is what every kernel since 5.12 has.
  enum class Mounts { New, Classic, Detect };

  // Whether control groups are used where there are any.
  enum class Groups { Detect, None };

  // What keeps a command from changing the layers of a temp. OnDisk: as where files in memory
  // cannot have the marks of the overlay file system, copies stand for those whose changes nobody
  // keeps.
  enum class Layers { Detect, OnDisk, Copy };

  static Result<LinuxBackend> make(Mounts mounts = Mounts::Detect, Groups groups = Groups::Detect,
                                   Layers layers = Layers::Detect);

  [[nodiscard]] std::string_view name() const override { return "linux"; }
  // Cheap: a clause that this says is enforced is put in force step by step when a run starts, and
  // a step that fails ends it before the command runs. "hermetic doctor" tries them all.
  [[nodiscard]] Capabilities probe() const override;
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;

 private:
  LinuxBackend(UniqueFd init, bool classic_mounts, Layering layering, int landlock_abi,
               ControlGroups groups)
      : init_(std::move(init)),
        classic_mounts_(classic_mounts),
        layering_(layering),
        landlock_abi_(landlock_abi),
        groups_(std::move(groups)) {}

  UniqueFd init_;
  bool classic_mounts_;
  Layering layering_;
  int landlock_abi_;
  ControlGroups groups_;
};

}  // namespace hermetic
