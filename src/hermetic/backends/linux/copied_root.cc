#include "hermetic/backends/linux/copied_root.h"

#include <sys/mount.h>

#include <algorithm>

#include "hermetic/backends/linux/layer_steps.h"

namespace hermetic::linux_backend {
namespace {

using EntryKind = ViewEntry::Kind;
using StepKind = Step::Kind;

void make_point(LoweredScript& script, const ViewEntry& entry, const char* target) {
  // In a copy that is a tree like others something may be there.
  script.steps.push_back({.kind = StepKind::RemoveFile, .target = target, .second = kIfNeeded});
  if (entry.kind == EntryKind::Link) {
    script.steps.push_back(
        {.kind = StepKind::MakeLink, .target = target, .text = script.keep(entry.text)});
  } else if (entry.type == FileType::File) {
    const bool own = entry.kind == EntryKind::File;  // the command may change it
    script.steps.push_back({.kind = StepKind::MakeFile,
                            .target = target,
                            .text = script.keep(entry.text),
                            .text_size = static_cast<std::uint32_t>(entry.text.size()),
                            .number = own ? 0644U : 0444U});
  } else {
    script.steps.push_back(
        {.kind = StepKind::MakeDirectory, .target = target, .number = 0755, .second = kIfNeeded});
  }
}

void make_points(LoweredScript& script, const Plan& plan, const std::string& upper) {
  for (const ViewEntry& entry : plan.view)
    if (is_made_in_copied_root(plan, entry))
      make_point(script, entry, script.keep(upper + entry.path));
}

}  // namespace

const ViewEntry* copied_root_of(const Plan& plan) {
  const bool has = !plan.view.empty() && plan.view.front().path == "/" &&
                   plan.view.front().kind == EntryKind::Temp;
  return has ? &plan.view.front() : nullptr;
}

bool is_made_in_copied_root(const Plan& plan, const ViewEntry& entry) {
  if (copied_root_of(plan) == nullptr || entry.path == "/" || !entry.make_point) return false;
  return std::none_of(plan.view.begin(), plan.view.end(), [&](const ViewEntry& around) {
    return around.path != "/" && around.kind != EntryKind::Directory &&
           is_strictly_within(entry.path, around.path);
  });
}

void add_copied_root(LoweredScript& script, const Plan& plan, const Facts& facts, const char* base,
                     const std::string& memory) {
  const ViewEntry& root = *copied_root_of(plan);
  const Step enter{.kind = StepKind::ChangeDirectory, .target = base};
  if (const auto copy = facts.copies.find(root.path); copy != facts.copies.end()) {
    script.steps.push_back({.kind = facts.classic_mounts ? StepKind::BindClassic : StepKind::Bind,
                            .source = script.keep(copy->second.path),
                            .target = base,
                            .device = copy->second.device,
                            .inode = copy->second.inode});
    script.steps.push_back(enter);
    make_points(script, plan, ".");
    return;
  }
  // A mount that the root then covers, to put it together on.
  script.steps.push_back({.kind = StepKind::Mount,
                          .source = "tmpfs",
                          .target = base,
                          .text = script.keep("mode=0755,size=64m"),
                          .flags = MS_NOSUID | MS_NODEV});
  script.steps.push_back(enter);
  add_layer_steps(script, root, base, ".hermetic", memory, facts,
                  [&](const std::string& upper) { make_points(script, plan, upper); });
  script.steps.push_back(enter);
}

}  // namespace hermetic::linux_backend
