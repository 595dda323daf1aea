// Scripts as text: for error messages, golden tests and HERMETIC_DEBUG.
#include <fmt/format.h>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/text.h"

namespace hermetic::linux_backend {
namespace {

std::string_view text_or_nothing(const char* text) { return text == nullptr ? "" : text; }

std::string describe(const Step& step) {
  const std::string source = printable(text_or_nothing(step.source));
  const std::string target = printable(text_or_nothing(step.target));
  const std::string text = printable(text_or_nothing(step.text));
  using Kind = Step::Kind;
  switch (step.kind) {
    case Kind::JoinGroup: return "joining the control group";
    case Kind::EnterGroupNamespace: return "making the control group the root of its namespace";
    case Kind::PassProc: return "passing the kept /proc on";
    case Kind::WriteFile: return fmt::format("writing '{}' to {}", text, target);
    case Kind::TryWriteFile:
      return fmt::format("writing '{}' to {}, if that is possible", text, target);
    case Kind::SetHostname: return fmt::format("setting the host name {}", text);
    case Kind::MakePrivate: return "making mounts private";
    case Kind::Mount: return fmt::format("mounting {} on {} with '{}'", source, target, text);
    case Kind::MakeDirectory:
      return fmt::format("making the directory {} with mode {:o}", target, step.number);
    case Kind::MakeFile:
      return fmt::format("making the file {} with mode {:o}", target, step.number);
    case Kind::RemoveFile: return fmt::format("removing the file {}", target);
    case Kind::MakeLink: return fmt::format("making the link {} to {}", target, text);
    case Kind::Bind: return fmt::format("binding {} to {}", source, target);
    case Kind::BindClassic: return fmt::format("binding {} to {} by mount(2)", source, target);
    case Kind::Unmount: return fmt::format("taking the name {} away", target);
    case Kind::Remount: return fmt::format("remounting {} with flags {:#x}", target, step.flags);
    case Kind::Mask: return fmt::format("covering {} with {}", target, source);
    case Kind::Attributes:
      return fmt::format("adding attributes {:#x} to {} and below", step.number, target);
    case Kind::Unseal: return fmt::format("making {} writable", target);
    case Kind::ChangeDirectory: return fmt::format("entering {}", target);
    case Kind::PivotRoot: return "changing the root";
    case Kind::KeepProc: return fmt::format("keeping a writable copy of {}", target);
    case Kind::KeepProcClassic:
      return fmt::format("keeping a writable copy of {} by mount(2)", target);
    case Kind::WriteProc: return fmt::format("writing '{}' to {} of the kept /proc", text, target);
    case Kind::EnterTimeNamespace: return "making a time namespace";
    case Kind::EnterUserNamespace: return "entering the second user namespace";
    case Kind::Landlock:
      return fmt::format("making a Landlock ruleset for {:#x}, scope {:#x}", step.number,
                         step.second);
    case Kind::LandlockRule:
      return fmt::format("allowing {:#x} on {} in Landlock", step.number, target);
    case Kind::LandlockEnforce: return "enforcing Landlock";
    case Kind::SetLimit:
      return fmt::format("limiting resource {} to {}", step.number, step.limit.rlim_cur);
    case Kind::SetNice: return fmt::format("setting the nice level {}", step.number);
    case Kind::SetCpus: return "choosing the CPUs";
    case Kind::DropCapabilities: return "dropping all capabilities";
    case Kind::SetUmask: return fmt::format("setting the umask {:o}", step.number);
    case Kind::LimitPersonality: return "limiting the personality";
    case Kind::OpenTerminal: return "making a terminal";
    case Kind::OpenDevice: return fmt::format("opening {} for descriptor {}", target, step.number);
    case Kind::PlaceOpened:
      return fmt::format("moving what was opened to descriptor {}", step.number);
    case Kind::RaiseLoopback: return "bringing up the loopback interface";
    case Kind::MakeLocal:
      return fmt::format("making every address of family {} local", step.number);
    case Kind::PassSockets:
      return fmt::format("passing {} TCP and {} UDP sockets on", step.number, step.second);
    case Kind::MoveDescriptor: return fmt::format("moving a descriptor to {}", step.second);
    case Kind::CloseDescriptors: return fmt::format("closing descriptors from {} on", step.number);
  }
  return "an unknown step";
}

std::string describe_init_step(InitStep step) {
  switch (step) {
    case InitStep::ReadConfig: return "init: reading its instructions";
    case InitStep::StartProcess: return "init: starting a process";
    case InitStep::NewSession: return "init: making a session";
    case InitStep::TakeTerminal: return "init: taking the terminal";
    case InitStep::ChangeDirectory: return "init: entering the directory of the command";
    case InitStep::CheckClock: return "init: checking that the clock started anew";
    case InitStep::Observe: return "init: asking to be told of system calls";
    case InitStep::LimitOpenFiles: return "init: limiting open files";
    case InitStep::LoadFilter: return "init: loading the system-call filter";
    case InitStep::Prove: return "init: trying what must fail";
    case InitStep::Hide: return "init: closing its memory to others";
    case InitStep::WatchChildren: return "init: watching for the end of its children";
  }
  return "init";
}

}  // namespace

std::string describe_step(const LoweredScript& script, std::uint32_t index) {
  if (index >= static_cast<std::uint32_t>(InitStep::ReadConfig))
    return describe_init_step(static_cast<InitStep>(index));
  if (index >= script.steps.size()) return "executing init";
  return fmt::format("step {}: {}", index, describe(script.steps[index]));
}

std::string print_script(const LoweredScript& script) {
  std::string text;
  for (const Step& step : script.steps) text += describe(step) + "\n";
  return text;
}

}  // namespace hermetic::linux_backend
