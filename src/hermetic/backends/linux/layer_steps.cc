#include "hermetic/backends/linux/layer_steps.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include "hermetic/outputs/change_places.h"

namespace hermetic::linux_backend {
namespace {

using StepKind = Step::Kind;

class LayerSteps {
 public:
  LayerSteps(LoweredScript& script, bool classic_mounts)
      : script_(script), classic_mounts_(classic_mounts) {}

  // Under a name of ours, so that no letter in the host's means anything to the file system; and
  // it is the object that was checked.
  void bind(const PlannedLayer& layer, const std::string& name) {
    make_directory(name);
    script_.steps.push_back({.kind = classic_mounts_ ? StepKind::BindClassic : StepKind::Bind,
                             .source = script_.keep(layer.source),
                             .target = script_.keep(name),
                             .device = layer.device,
                             .inode = layer.inode});
    names_.push_back(name);
  }

  void make_memory(const std::string& name, const std::string& options) {
    make_directory(name);
    mount("tmpfs", script_.keep(name), options);
    for (const char* part : {kUpper, kWork}) make_directory(fmt::format("{}/{}", name, part));
    names_.push_back(name);
  }

  void mount(const char* type, const char* target, const std::string& options) {
    script_.steps.push_back({.kind = StepKind::Mount,
                             .source = type,
                             .target = target,
                             .text = script_.keep(options),
                             .flags = MS_NOSUID | MS_NODEV});
  }

  void forget_names() {
    for (const std::string& name : names_)
      script_.steps.push_back({.kind = StepKind::Unmount, .target = script_.keep(name)});
  }

 private:
  void make_directory(const std::string& name) {
    script_.steps.push_back(
        {.kind = StepKind::MakeDirectory, .target = script_.keep(name), .number = 0700});
  }

  LoweredScript& script_;
  bool classic_mounts_;
  std::vector<std::string> names_;
};

}  // namespace

void add_layer_steps(LoweredScript& script, const ViewEntry& temp, const char* target,
                     const std::string& place, const std::string& memory, const Facts& facts,
                     const std::function<void(const std::string& upper)>& prepare) {
  LayerSteps steps(script, facts.classic_mounts);
  const auto counted = facts.shown_layers.find(temp.path);
  const std::size_t shown =
      counted == facts.shown_layers.end() ? temp.over.size() : counted->second;
  std::string lower;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string name = fmt::format("{}.layer{}", place, i);
    steps.bind(temp.over[i], name);
    lower += (i == 0 ? "" : ":") + name;
  }
  const std::string changes = place + ".changes";
  if (temp.changes)
    steps.bind(*temp.changes, changes);
  else
    steps.make_memory(changes, memory);
  if (prepare) prepare(fmt::format("{}/{}", changes, kUpper));
  // userxattr: what an unprivileged mount can use for its own marks. volatile: the changes are no
  // better than the run, so nothing waits for the disk; without it the end of a run would wait for
  // everything that anybody has written.
  steps.mount("overlay", target,
              fmt::format("lowerdir={},upperdir={}/{},workdir={}/{},userxattr,volatile", lower,
                          changes, kUpper, changes, kWork));
  steps.forget_names();
}

}  // namespace hermetic::linux_backend
