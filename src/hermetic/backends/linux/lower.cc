#include "hermetic/backends/linux/lower.h"

#include <fmt/format.h>
#include <sys/mount.h>

#include <algorithm>

#include "hermetic/backends/linux/clock_steps.h"
#include "hermetic/backends/linux/copied_root.h"
#include "hermetic/backends/linux/init_message.h"
#include "hermetic/backends/linux/kernel.h"
#include "hermetic/backends/linux/landlock_steps.h"
#include "hermetic/backends/linux/layer_steps.h"
#include "hermetic/backends/linux/limit_steps.h"
#include "hermetic/backends/linux/network_steps.h"
#include "hermetic/backends/linux/pinned_directories.h"
#include "hermetic/backends/linux/stream_steps.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic::linux_backend {
namespace {

using Entry = ViewEntry;
using EntryKind = ViewEntry::Kind;
using StepKind = Step::Kind;

// The new root is built on top of the host's /proc: a directory that every host has and that nobody
// can declare, so that no source is hidden by it.
constexpr const char* kBase = "/proc";
constexpr unsigned kInsideBuilder = 1000;

constexpr std::uint64_t kSealed = kMountReadOnly | kMountNoSetuid | kMountNoDevices;

class Composer {
 public:
  Composer(const Plan& plan, const Facts& facts) : plan_(plan), facts_(facts), pinned_(plan.view) {
    for (const Entry& entry : plan.view) {
      if (entry.kind == EntryKind::OutputInPlace) in_place_.push_back(entry.path);
      if (entry.kind == EntryKind::OutputInPlace || entry.kind == EntryKind::Output ||
          entry.kind == EntryKind::Temp)
        writable_.push_back(entry.path);
    }
  }

  LoweredScript make() {
    control_group();
    first_user_namespace();
    add({.kind = StepKind::SetHostname,
         .text = keep(plan_.hostname),
         .text_size = size(plan_.hostname)});
    if (plan_.own_uptime) add_clock_steps(script_, facts_);
    add_network_steps(script_, plan_, facts_);
    add({.kind = StepKind::MakePrivate});
    root();
    view();
    seal();
    unseal();
    devices();
    late_part();
    add({.kind = StepKind::PivotRoot});
    add_opening_of_streams(script_, facts_);
    second_user_namespace();
    add({.kind = StepKind::PassProc});
    add_landlock_steps(script_, plan_, facts_);
    process();
    add_placing_of_streams(script_, facts_);
    descriptors();
    arguments();
    return std::move(script_);
  }

 private:
  const char* keep(std::string text) { return script_.keep(std::move(text)); }
  static std::uint32_t size(const std::string& text) {
    return static_cast<std::uint32_t>(text.size());
  }
  void add(Step step) { script_.steps.push_back(step); }

  // A path of the view, as seen from the new root.
  const char* inside(std::string_view path) {
    return keep(path == "/" ? "." : std::string(path.substr(1)));
  }

  void write(StepKind kind, std::string path, std::string text) {
    const std::uint32_t length = size(text);
    add({.kind = kind,
         .target = keep(std::move(path)),
         .text = keep(std::move(text)),
         .text_size = length});
  }

  [[nodiscard]] unsigned inner_number() const {
    return plan_.identity == Identity::Root ? 0 : kInsideBuilder;
  }

  // First of all, so that what follows is counted, too. Its name is nobody's business inside.
  void control_group() {
    for (const int door : facts_.group_doors)
      add({.kind = StepKind::JoinGroup, .number = static_cast<std::uint64_t>(door)});
    if (!facts_.group_doors.empty()) add({.kind = StepKind::EnterGroupNamespace});
  }

  void first_user_namespace() {
    write(StepKind::WriteFile, "/proc/self/uid_map",
          fmt::format("{} {} 1\n", inner_number(), facts_.user));
    // Without a privileged helper a group can only be mapped once setgroups() is off,
    // user_namespaces(7).
    write(StepKind::WriteFile, "/proc/self/setgroups", "deny");
    write(StepKind::WriteFile, "/proc/self/gid_map",
          fmt::format("{} {} 1\n", inner_number(), facts_.group));
  }

  void mount(const char* type, const char* target, unsigned long flags, std::string options) {
    add({.kind = StepKind::Mount,
         .source = type,
         .target = target,
         .text = keep(std::move(options)),
         .flags = flags});
  }

  void bind(const HostObject& object, const char* target) {
    add({.kind = facts_.classic_mounts ? StepKind::BindClassic : StepKind::Bind,
         .source = keep(object.path),
         .target = target,
         .device = object.device,
         .inode = object.inode});
  }

  // Adds attributes to a bound tree and everything mounted below it.
  void attributes(const std::string& source, std::string_view path, std::uint64_t set) {
    if (!facts_.classic_mounts) {
      add({.kind = StepKind::Attributes, .target = inside(path), .number = set});
      return;
    }
    unsigned long flags = 0;
    if ((set & kMountReadOnly) != 0) flags |= MS_RDONLY;
    if ((set & kMountNoSetuid) != 0) flags |= MS_NOSUID;
    if ((set & kMountNoDevices) != 0) flags |= MS_NODEV;
    if ((set & kMountNoExecute) != 0) flags |= MS_NOEXEC;
    // What the host's mount already forbids is locked: a remount must say it again or is refused.
    if (source.empty()) {
      add({.kind = StepKind::Remount, .target = inside(path), .flags = flags});
      return;
    }
    add({.kind = StepKind::Remount,
         .target = inside(path),
         .flags = flags | facts_.mounts.flags_of(source)});
    for (const Mount* below : facts_.mounts.below(source)) {
      const std::string place = join(path, relative_to(below->point, source));
      if (!is_covered(place, path))
        add({.kind = StepKind::Remount, .target = inside(place), .flags = flags | below->flags});
    }
  }

  // Does another entry stand between `place` and the tree at `path` that shows it?
  [[nodiscard]] bool is_covered(std::string_view place, std::string_view path) const {
    return std::any_of(plan_.view.begin(), plan_.view.end(), [&](const Entry& entry) {
      return is_strictly_within(entry.path, path) && is_within(place, entry.path);
    });
  }

  [[nodiscard]] bool root_is_of_host() const {
    return !plan_.view.empty() && plan_.view.front().path == "/" &&
           plan_.view.front().kind == EntryKind::Input;
  }

  void root() {
    if (copied_root_of(plan_) != nullptr)
      return add_copied_root(script_, plan_, facts_, kBase, sized("mode=0700"));
    if (root_is_of_host())
      bind(object_of(plan_.view.front()), kBase);
    else
      mount("tmpfs", kBase, MS_NOSUID | MS_NODEV, "mode=0755,size=64m");
    add({.kind = StepKind::ChangeDirectory, .target = kBase});
  }

  [[nodiscard]] bool is_mount_of_devices(const Entry& entry) const {
    return entry.kind == EntryKind::Devices && (!entry.make_point || is_made_in_root(entry));
  }

  [[nodiscard]] bool is_made_in_root(const Entry& entry) const {
    return is_made_in_copied_root(plan_, entry);
  }

  static HostObject object_of(const Entry& entry) {
    return {.path = entry.source, .device = entry.device, .inode = entry.inode};
  }

  static bool has_around(const std::vector<std::string>& trees, const Entry& entry,
                         bool (*relation)(std::string_view path, std::string_view tree)) {
    return std::any_of(trees.begin(), trees.end(),
                       [&](const std::string& tree) { return relation(entry.path, tree); });
  }

  // A listing is as read only as what it stands on: on the root it needs no mount of its own, over
  // the host's directory and inside something writable it does.
  [[nodiscard]] bool is_own_mount(const Entry& listing) const {
    return listing.path != "/" &&
           (!listing.make_point || has_around(writable_, listing, is_within));
  }

  // An output that is changed in place may have mounts of the host below it, which stay writable
  // with it. It is put there after the rest was sealed, and what is declared inside it is sealed
  // one by one.
  [[nodiscard]] bool is_in_place(const Entry& entry) const {
    return has_around(in_place_, entry, is_within);
  }
  [[nodiscard]] bool is_inside_in_place(const Entry& entry) const {
    return has_around(in_place_, entry, is_strictly_within);
  }

  void make_point(const Entry& entry) {
    if (!entry.make_point || is_made_in_root(entry)) return;
    if (entry.type == FileType::File)
      add({.kind = StepKind::MakeFile, .target = inside(entry.path), .number = 0444});
    else
      add({.kind = StepKind::MakeDirectory, .target = inside(entry.path), .number = 0755});
  }

  void view() {
    for (const Entry& entry : plan_.view)  // cover_with_file() may make its files there
      if (entry.kind == EntryKind::Devices) put(entry);
    for (const Entry& entry : plan_.view) {
      if (entry.kind == EntryKind::Devices) continue;
      if (!is_in_place(entry))
        put(entry);
      else if (!is_inside_in_place(entry))
        make_point(entry);
    }
  }

  void put(const Entry& entry) {
    const bool made = entry.kind == EntryKind::Link || entry.kind == EntryKind::File;
    if (entry.path == "/" || (made && is_made_in_root(entry))) return;  // it is there already
    for (const std::string& directory : pinned_.above(entry)) {
      bind({.path = inside(directory)}, inside(directory));
      if (!sealed_) to_open_.push_back(directory);
    }
    switch (entry.kind) {
      case EntryKind::Directory: make_point(entry); break;
      case EntryKind::Link:
        add({.kind = StepKind::MakeLink, .target = inside(entry.path), .text = keep(entry.text)});
        break;
      case EntryKind::File: put_file(entry); break;
      case EntryKind::Input:
        make_point(entry);
        bind(object_of(entry), inside(entry.path));
        break;
      case EntryKind::Listing:
        make_point(entry);
        if (is_own_mount(entry))
          mount("tmpfs", inside(entry.path), MS_NOSUID | MS_NODEV, "mode=0755,size=16m");
        break;
      case EntryKind::Hidden: put_hidden(entry); break;
      case EntryKind::Devices: make_devices(entry); break;
      case EntryKind::Processes: make_processes(entry); break;
      case EntryKind::Output: put_output(entry); break;
      case EntryKind::OutputInPlace: put_in_place(entry); break;
      case EntryKind::Temp: put_temp(entry); break;
    }
  }

  void make_file(const char* target, const std::string& text, std::uint64_t mode) {
    add({.kind = StepKind::MakeFile,
         .target = target,
         .text = keep(text),
         .text_size = size(text),
         .number = mode});
  }

  // Where a file of the host shows through, ours is bound over it, and the name that it was made
  // under goes again.
  void put_file(const Entry& entry) {
    if (entry.make_point)
      make_file(inside(entry.path), entry.text, 0444);
    else
      cover_with_file(entry.path, entry.text, 0444);
  }

  // Where something can be made for a moment. The root is read only by the time the writable part
  // is made, and may be the host's own.
  [[nodiscard]] const char* making_place() const {
    if (sealed_) return "dev/shm/.hermetic";
    return root_is_of_host() || copied_root_of(plan_) != nullptr ? "dev/.hermetic" : ".hermetic";
  }

  void cover_with_file(std::string_view path, const std::string& text, std::uint64_t mode) {
    const char* making = making_place();
    make_file(making, text, mode);
    bind({.path = making}, inside(path));
    add({.kind = StepKind::RemoveFile, .target = making});
  }

  // Always a mount, so that it cannot be replaced where its parent can be written.
  void put_hidden(const Entry& entry) {
    make_point(entry);
    if (entry.type == FileType::File)
      cover_with_file(entry.path, "", 0);
    else
      mount("tmpfs", inside(entry.path), MS_NOSUID | MS_NODEV, "mode=0000,size=4k");
  }

  void make_devices(const Entry& entry) {
    if (!is_mount_of_devices(entry))
      make_point(entry);
    else
      mount("tmpfs", "dev", MS_NOSUID | MS_NODEV, "mode=0755,size=64m");
    for (const HostObject& device : facts_.devices)
      add({.kind = StepKind::MakeFile, .target = inside(device.path), .number = 0444});
    for (const char* directory : {"dev/pts", "dev/shm"})
      add({.kind = StepKind::MakeDirectory, .target = directory, .number = 0755});
    for (const BuiltInLink& link : kDeviceLinks)
      add({.kind = StepKind::MakeLink,
           .target = inside(link.path),
           .text = keep(std::string(link.target))});
  }

  // Read only for the command, like the rest: sysctl files ask for the owner and not for a
  // capability, so that root outside could write them from inside. The maps of the second user
  // namespace still have to be written.
  void make_processes(const Entry& entry) {
    make_point(entry);
    if (!nests()) mount_processes(entry);
  }

  // A sandbox inside this one writes maps, and may mount a /proc only where one shows all of
  // itself: then it stays writable and unmasked. Root outside owns the sysctl files, so for root it
  // never does.
  [[nodiscard]] bool nests() const { return plan_.allow_nested_namespaces && facts_.user != 0; }

  void mount_processes(const Entry& entry) {
    const char* target = inside(entry.path);
    if (facts_.classic_mounts) add({.kind = StepKind::KeepProcClassic, .target = target});
    mount("proc", target, MS_NOSUID | MS_NODEV | MS_NOEXEC, "");
    if (!facts_.classic_mounts) add({.kind = StepKind::KeepProc, .target = target});
  }

  // One call makes the whole finished tree read only, sub-mounts of the inputs included.
  void seal() {
    sealed_ = true;
    if (!facts_.classic_mounts) {
      add({.kind = StepKind::Attributes, .target = ".", .number = kSealed});
      return;
    }
    for (const Entry& entry : plan_.view)
      if (!is_in_place(entry)) seal_one(entry);
    if (!root_is_of_host() && copied_root_of(plan_) == nullptr) attributes("", "/", kSealed);
  }

  void seal_one(const Entry& entry) {
    if (entry.kind == EntryKind::Input) attributes(entry.source, entry.path, kSealed);
    if (entry.kind == EntryKind::Processes && !nests())
      attributes("", entry.path, kSealed | kMountNoExecute);
    const bool covers =
        (entry.kind == EntryKind::File && !entry.make_point) || is_mount_of_devices(entry);
    const bool listing = entry.kind == EntryKind::Listing && is_own_mount(entry);
    if (covers || listing || entry.kind == EntryKind::Hidden) attributes("", entry.path, kSealed);
  }

  // Outputs and temps are mounts of their own: only they become writable again, nothing below or
  // beside them.
  void unseal() {
    for (const Entry& entry : plan_.view) {
      if (is_in_place(entry)) continue;
      if (facts_.classic_mounts)
        for (const auto* bound : {&facts_.staging, &facts_.copies})
          if (const auto found = bound->find(entry.path); found != bound->end())
            attributes(found->second.path, entry.path, kMountNoSetuid | kMountNoDevices);
      const bool writable = entry.kind == EntryKind::Output || entry.kind == EntryKind::Temp;
      if (writable && !facts_.classic_mounts)
        add({.kind = StepKind::Unseal, .target = inside(entry.path)});
    }
    for (const std::string& directory : to_open_)
      add({.kind = facts_.classic_mounts ? StepKind::Remount : StepKind::Unseal,
           .target = inside(directory),
           .flags = MS_NOSUID | MS_NODEV});
  }

  void devices() {
    for (const Entry& entry : plan_.view)
      if (entry.kind == EntryKind::Processes && nests()) mount_processes(entry);
    for (const HostObject& device : facts_.devices) bind_device(device, device.path);
    for (const std::string& path : facts_.masked)
      if (!nests()) add({.kind = StepKind::Mask, .source = "dev/null", .target = inside(path)});
    mount("devpts", "dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620");
    mount("tmpfs", "dev/shm", MS_NOSUID | MS_NODEV, sized("mode=1777"));
  }

  void late_part() {
    for (const Entry& entry : plan_.view) {
      if (!is_in_place(entry)) continue;
      put(entry);
      if (entry.kind != EntryKind::Listing) seal_one(entry);
    }
    // Places are made in a listing until all is there. It alone is sealed: what stands in it is as
    // it should be.
    for (const Entry& entry : plan_.view)
      if (is_in_place(entry) && entry.kind == EntryKind::Listing)
        add({.kind = StepKind::Remount,
             .target = inside(entry.path),
             .flags = MS_RDONLY | MS_NOSUID | MS_NODEV});
  }

  // A read-only mount does not keep anyone from writing to the device; it keeps root outside from
  // changing the mode of the host's node from inside.
  void bind_device(const HostObject& device, const std::string& path) {
    bind(device, inside(path));
    attributes(device.path, path, kMountReadOnly | kMountNoSetuid | kMountNoExecute);
  }

  // A control group counts what is in a temp. Where there is none, no process does.
  [[nodiscard]] std::string sized(std::string options) const {
    const auto& limit = plan_.limits.memory_bytes;
    return limit ? fmt::format("{},size={}", options, *limit) : options;
  }

  void put_temp(const Entry& entry) {
    make_point(entry);
    if (entry.type == FileType::File)
      cover_with_file(entry.path, "", 0644);
    else if (const auto made = facts_.staging.find(entry.path); made != facts_.staging.end())
      bind_writable(made->second, entry);  // outputs are made in it
    else if (const auto copy = facts_.copies.find(entry.path); copy != facts_.copies.end())
      bind_writable(copy->second, entry);
    else if (!entry.over.empty())
      add_layer_steps(script_, entry, inside(entry.path), making_place(), sized("mode=0700"),
                      facts_);
    else
      mount("tmpfs", inside(entry.path), MS_NOSUID | MS_NODEV,
            sized(entry.path == kTemporary ? "mode=1777" : "mode=0755"));
  }

  void put_output(const Entry& entry) {
    make_point(entry);
    const auto staged = facts_.staging.find(entry.path);
    CHECK(staged != facts_.staging.end());
    bind_writable(staged->second, entry);
  }

  void bind_writable(const HostObject& object, const Entry& entry) {
    bind(object, inside(entry.path));
    if (sealed_) attributes(object.path, entry.path, kMountNoSetuid | kMountNoDevices);
  }

  void put_in_place(const Entry& entry) {
    if (is_inside_in_place(entry)) make_point(entry);
    bind_writable(object_of(entry), entry);
  }

  // The mounts belong to the first user namespace. A process in the second has no power over them,
  // whatever capabilities it holds or gains there, and in a mount namespace of its own every one of
  // them is locked.
  void second_user_namespace() {
    add({.kind = StepKind::EnterUserNamespace});
    for (const char* map : {"self/uid_map", "self/gid_map"})
      write(StepKind::WriteProc, map, fmt::format("{0} {0} 1\n", inner_number()));
    // Root owns its caller's control groups, and mounts none without a namespace for them.
    const char* kind = plan_.allow_nested_namespaces ? "cgroup" : "user";
    if (!nests())
      write(StepKind::WriteProc, fmt::format("sys/user/max_{}_namespaces", kind), "0\n");
  }

  void process() {
    add({.kind = StepKind::SetUmask, .number = 022});
    add_limit_steps(script_, plan_, facts_);
    add({.kind = StepKind::DropCapabilities});
  }

  void descriptors() {
    add({.kind = StepKind::MoveDescriptor,
         .number = static_cast<std::uint64_t>(facts_.socket),
         .second = kInitSocket});
    add({.kind = StepKind::CloseDescriptors, .number = kInitSocket + 1});
  }

  void arguments() {
    for (const std::string& word : plan_.command)
      script_.argv.push_back(const_cast<char*>(keep(word)));
    script_.argv.push_back(nullptr);
    for (const auto& [name, value] : plan_.environment)
      script_.envp.push_back(const_cast<char*>(keep(fmt::format("{}={}", name, value))));
    script_.envp.push_back(nullptr);
    script_.init_message = init_message(plan_, facts_);
  }

  const Plan& plan_;
  const Facts& facts_;
  std::vector<std::string> in_place_;
  std::vector<std::string> writable_;  // those, outputs and temps
  PinnedDirectories pinned_;
  std::vector<std::string> to_open_;  // the pinned ones that seal() makes read only
  LoweredScript script_;
  bool sealed_ = false;  // what is put there from now on is not covered by seal()
};

}  // namespace

LoweredScript lower(const Plan& plan, const Facts& facts) { return Composer(plan, facts).make(); }

}  // namespace hermetic::linux_backend
