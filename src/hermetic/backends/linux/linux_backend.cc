#include "hermetic/backends/linux/linux_backend.h"

#include <unistd.h>

#include <utility>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/init_image.h"
#include "hermetic/backends/linux/limit_capabilities.h"
#include "hermetic/backends/linux/linux_run.h"
#include "hermetic/outputs/change_places.h"

namespace hermetic {

using namespace linux_backend;

Result<LinuxBackend> LinuxBackend::make(Mounts mounts, Groups groups, Layers layers) {
  UniqueFd init = TRY(make_init_image());
  const bool classic =
      mounts == Mounts::Classic || (mounts == Mounts::Detect && !has_new_mount_calls());
  Layering layering = Layering::Overlay;
  if (layers == Layers::OnDisk || !has_marks_in_memory()) layering = Layering::OverlayOnDisk;
  if (layers == Layers::Copy || !has_overlay()) layering = Layering::Copy;
  return LinuxBackend(std::move(init), classic, layering, landlock_abi_of_this_kernel(),
                      groups == Groups::Detect
                          ? ControlGroups::of_this_process()
                          : ControlGroups::none("control groups are not to be used"));
}

Capabilities LinuxBackend::probe() const {
  Capabilities capabilities{.backend = "linux", .clauses = {}, .uses_landlock = true};
  const auto enforced = [&](Clause clause, std::string mechanism) {
    capabilities.clauses[clause] = {.strength = Strength::Enforced,
                                    .mechanism = std::move(mechanism)};
  };
  const auto absent = [&](Clause clause, std::string reason, std::string remedy) {
    capabilities.clauses[clause] = {
        .strength = Strength::Absent, .reason = std::move(reason), .remedy = std::move(remedy)};
  };
  enforced(Clause::InputsReadOnly, "read-only mounts, locked by a second user namespace");
  enforced(Clause::UndeclaredHidden, "mount namespace with an empty root");
  enforced(Clause::OutputsPrivate, "own mounts; published after success");
  enforced(Clause::LayersUnchanged,
           layering_ == Layering::Copy ? "a copy of every file" : "overlay file system");
  enforced(Clause::NoNetwork, "empty network namespace");
  enforced(Clause::LoopbackOnly, "network namespace with loopback only");
  enforced(Clause::ExactEnvironment, "execve with the declared variables only");
  enforced(Clause::FixedIdentity, "user namespace");
  enforced(Clause::FixedHostname, "uts namespace");
  enforced(Clause::OwnProcessTree, "pid namespace");
  enforced(Clause::KillOnParentExit, "init ends with its socket");
  enforced(Clause::OwnIpc, "ipc namespace");
  if (has_time_namespaces())
    enforced(Clause::OwnUptime, "time namespace");
  else
    absent(Clause::OwnUptime, "this kernel has no time namespaces",
           "use a kernel that was built with them");
  enforced(Clause::OwnSession, "setsid, and TIOCSTI refused by seccomp");
  enforced(Clause::NoInheritedDescriptors, "close_range");
  enforced(Clause::NoNewPrivileges, "no capabilities, no_new_privs, nosuid");
  enforced(Clause::SystemCallsFiltered, "seccomp");
  enforced(Clause::NoNestedNamespaces, "seccomp and user.max_user_namespaces=0");
  enforced(Clause::NoFork, "seccomp");
  enforced(Clause::NoExec, "seccomp, but for one call with a secret key");
  if (landlock_abi_ > 0) {
    const std::string landlock = "Landlock ABI " + std::to_string(landlock_abi_);
    enforced(Clause::SecondLine, landlock);
    enforced(Clause::OutputsWriteOnly, landlock);
  } else {
    for (const Clause clause : {Clause::SecondLine, Clause::OutputsWriteOnly})
      absent(clause, "this kernel has no Landlock", "use Linux 5.13 or newer with lsm=landlock");
  }
  if (const std::string reason = why_no_listener(); reason.empty())
    enforced(Clause::NetworkWatched, "seccomp user notification");
  else
    absent(Clause::NetworkWatched, reason, "run hermetic outside the other sandbox");
  if (why_no_listener().empty())
    enforced(Clause::AllowedHostsOnly,
             "network namespace whose only ways out are listeners of the supervisor");
  else
    absent(Clause::AllowedHostsOnly, "ways out are opened by who watches: " + why_no_listener(),
           "run hermetic outside the other sandbox");
  for (auto& [clause, capability] : limit_capabilities(groups_, ::geteuid() == 0))
    capabilities.clauses[clause] = std::move(capability);
  return capabilities;
}

Result<std::unique_ptr<Run>> LinuxBackend::start(const Plan& plan, const RunOptions& options,
                                                 EventSink& events) {
  Facts facts = TRY(gather_facts(landlock_abi_, classic_mounts_));
  facts.layering = layering_;
  if (plan.process.cpus) facts.cpus = TRY(some_cpus(*plan.process.cpus));
  return start_run(plan, std::move(facts), {.init = init_.get(), .groups = &groups_}, options,
                   events);
}

}  // namespace hermetic
