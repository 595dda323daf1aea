#include "cli/doctor_trials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>

#include "cli/doctor_probes.h"
#include "hermetic/backends/linux/kernel.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/engine/execute.h"
#include "hermetic/places/private_folder.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {
namespace {

using std::chrono::milliseconds;

// A directory for the trial, gone when it is over.
class TrialDirectory {
 public:
  TrialDirectory() = default;
  TrialDirectory(const TrialDirectory&) = delete;
  TrialDirectory& operator=(const TrialDirectory&) = delete;
  ~TrialDirectory() {
    if (folder_.descriptor.is_open()) (void)remove_tree(AT_FDCWD, folder_.path);
  }
  // Not in /tmp if it can be helped: the sandbox has one of its own. If we are killed, the next run
  // or hermetic gc removes it.
  Result<std::string> make() {
    const FillFolder fill = [](const PrivateFolder& folder) -> Result<void> {
      if (::mkdirat(folder.descriptor.get(), "trial", 0700) == 0) return {};
      return system_error("cannot make a directory for the trial", errno);
    };
    for (const char* parent : {"/var/tmp", "/tmp"}) {
      Result<PrivateFolder> made = make_private_folder(parent, fill);
      if (!made) continue;
      folder_ = std::move(*made);
      return folder_.path + "/trial";
    }
    return system_error("cannot make a directory for the trial", errno);
  }

 private:
  PrivateFolder folder_;
};

Result<std::string> own_program() {
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size < 0) return system_error("cannot find the program itself", errno, "mount /proc");
  path.resize(static_cast<std::size_t>(size));
  return path;
}

using ProbeResults = std::map<std::string, ProbeResult>;

class Trials {
 public:
  Trials(Backend& backend, std::string program, std::string directory)
      : backend_(backend), program_(std::move(program)), directory_(std::move(directory)) {}

  Result<ProbeResults> run() {
    ProbeResults results = TRY(ask("usual", usual("usual")));
    try_watching(results);
    Draft strict;
    strict.strict_outputs = true;
    // Landlock cannot tell an output from a temp around it.
    if (!is_within(directory_, "/tmp"))
      try_one(results, Clause::OutputsWriteOnly,
              tools_for("outputs-write-only").output(directory_ + "/out").overlay(strict));
    try_layers(results);
    try_one(results, Clause::LoopbackOnly,
            usual("loopback-only").network({.mode = NetworkPolicy::Mode::Loopback}));
    // Only the sandbox's own devices are looked at: nothing is sent anywhere to find out.
    try_one(results, Clause::AllowedHostsOnly,
            usual("allowed-hosts-only")
                .network(NetworkPolicy::allow_hosts({"hermetic.invalid:9"}).value()));
    try_one(results, Clause::OwnUptime, usual("own-uptime").own_uptime());
    try_one(results, Clause::MaxChildren, usual("max-children").process({.max_children = 2}));
    try_one(results, Clause::NoFork, usual("no-fork").process({.allow_fork = false}));
    try_one(results, Clause::NoExec, usual("no-exec").process({.allow_exec = false}));
    try_one(results, Clause::OpenFilesLimit, usual("open-files-limit").limits({.open_files = 16}));
    try_one(results, Clause::FileSizeLimit,
            usual("file-size-limit").limits({.file_size_bytes = 4096}));
    try_one(results, Clause::CpuCount, usual("cpu-count").process({.cpus = 1}));
    try_limit(results, Clause::MemoryLimit, "take-memory", {.memory_bytes = 64U << 20U});
    try_limit(results, Clause::CpuTimeLimit, "compute", {.cpu_time = milliseconds(100)});
    try_limit(results, Clause::ProcessesLimit, "start-processes", {.processes = 4});
    try_limit(results, Clause::IdleTimeLimit, "wait", {.idle_time = milliseconds(100)});
    try_limit(results, Clause::CpuWeight, "usual", {.cpu_weight = 50});
    try_limit(results, Clause::DiskReadRate, "usual", {.disk_read_rate = 64U << 20U});
    try_limit(results, Clause::DiskWriteRate, "usual", {.disk_write_rate = 64U << 20U});
    try_limit(results, Clause::NetworkBytesLimit, "talk", {.network_bytes = 10'000});
    try_wall_time(results);
    try_parent_exit(results);
    return results;
  }

 private:
  [[nodiscard]] SpecBuilder tools_for(std::string_view act) const {
    SpecBuilder builder({program_, "doctor", "--inside", directory_, "--act", std::string(act)});
    builder.input(program_).directory("/");
    for (const std::string& tools : toolchain_directories())
      if (!is_within(program_, tools)) builder.input(tools);
    return builder;
  }

  // The directory is an input, but for an output and for a file that is hidden.
  [[nodiscard]] SpecBuilder usual(std::string_view act) const {
    SpecBuilder builder = tools_for(act);
    builder.input(directory_, {directory_ + "/out", directory_ + "/hidden"});
    return builder.output(directory_ + "/out");
  }

  Result<Finished> execute_here(const SpecBuilder& builder, int output = -1) const {
    const Spec spec = TRY(builder.build());
    Silence events;
    RunOptions options;
    options.standard_input = -1;
    options.standard_output = output;
    if (output < 0) options.capture_bytes = std::size_t{1} << 16U;
    return execute(spec, backend_, options, events);
  }

  Result<ProbeResults> ask(std::string_view what, const SpecBuilder& builder) const {
    const Finished finished = TRY(execute_here(builder));
    if (!finished.outcome.success())
      return unsupported(fmt::format("the trial '{}' did not end well: {}", what,
                                     printable(finished.outcome.standard_error.text)));
    return parse_probe_results(finished.outcome.standard_output.text);
  }

  // Only what the backend says that it enforces is tried: the rest is refused by name.
  [[nodiscard]] bool is_enforced(Clause clause) const {
    const Capabilities capabilities = backend_.probe();
    const auto found = capabilities.clauses.find(clause);
    return found != capabilities.clauses.end() && found->second.strength == Strength::Enforced;
  }

  void try_one(ProbeResults& results, Clause clause, const SpecBuilder& builder) const {
    if (!is_enforced(clause)) return;
    const std::string name(to_string(clause));
    const Result<ProbeResults> answer = ask(name, builder);
    if (!answer)
      results[name] = {.held = false, .detail = answer.error().message};
    else if (const auto found = answer->find(name); found != answer->end())
      results[name] = found->second;
  }

  // What the usual trial tries to reach is known afterwards.
  void try_watching(ProbeResults& results) const {
    if (!is_enforced(Clause::NetworkWatched)) return;
    const Result<Finished> finished = execute_here(usual("usual"));
    const std::size_t seen = finished ? finished->outcome.violations.size() : 0;
    results["network-watched"] = {.held = seen >= 3,
                                  .detail = fmt::format("{} of 3 attempts seen", seen)};
  }

  // The directory itself: inside it is changed, and afterwards it is looked at.
  void try_layers(ProbeResults& results) const {
    if (!is_enforced(Clause::LayersUnchanged)) return;
    ProbeResult& result = results["layers-unchanged"];
    const Result<ProbeResults> answer =
        ask("layers-unchanged", tools_for("layers-unchanged").temp_over(directory_, {directory_}));
    if (!answer) {
      result = {.held = false, .detail = answer.error().message};
      return;
    }
    const bool changed = ::access((directory_ + "/input").c_str(), F_OK) != 0 ||
                         ::access((directory_ + "/new").c_str(), F_OK) == 0;
    result = answer->at("layers-unchanged");
    result.held = result.held && !changed;
    result.detail += changed ? "; changed outside, too" : "; nothing of it outside";
  }

  // A command that would go over the limit is ended, or, where the kernel refuses and tells nobody,
  // ends by itself.
  void try_limit(ProbeResults& results, Clause clause, std::string_view act,
                 const ResourceLimits& limits) const {
    if (!is_enforced(clause)) return;
    SpecBuilder builder = act == "usual" ? usual(act) : tools_for(act);
    builder.limits(limits);
    if (clause == Clause::NetworkBytesLimit)
      builder.network({.mode = NetworkPolicy::Mode::Loopback});
    const Result<Finished> finished = execute_here(builder);
    ProbeResult& result = results[std::string(to_string(clause))];
    const bool is_rate = clause == Clause::DiskReadRate || clause == Clause::DiskWriteRate;
    if (is_rate && !finished && finished.error().kind == Error::Kind::Unsupported) {
      result = {.held = true, .detail = "nothing is run here: " + finished.error().message};
      return;
    }
    if (!finished) {
      result = {.held = false, .detail = finished.error().message};
      return;
    }
    const Outcome& outcome = finished->outcome;
    if (const auto* over = std::get_if<OverLimit>(&outcome.ending))
      result = {.held = true,
                .detail = fmt::format("ended at {} of {}", over->actual, over->limit)};
    else if (std::holds_alternative<TimedOut>(outcome.ending))
      result = {.held = true, .detail = "a command that does nothing was ended"};
    else if (clause == Clause::ProcessesLimit)
      result = {.held = outcome.usage.started_processes <= *limits.processes,
                .detail = fmt::format("{} of {} started", outcome.usage.started_processes,
                                      *limits.processes)};
    else if (clause == Clause::CpuWeight || is_rate)
      result = {.held = outcome.success(), .detail = "set"};
    else
      result = {.held = false, .detail = "the command was not ended"};
  }

  void try_wall_time(ProbeResults& results) const {
    SpecBuilder builder = tools_for("wait");
    builder.limits({.wall_time = milliseconds(100)});
    const Result<Finished> finished = execute_here(builder);
    const bool held = finished && std::holds_alternative<TimedOut>(finished->outcome.ending);
    results["wall-time-limit"] = {.held = held,
                                  .detail = held ? "a command that waits for ever was ended"
                                                 : "a command that waits for ever was not ended"};
  }

  // A second hermetic, without outputs that it would leave behind, is killed while its command
  // waits. The command holds one end of a pipe, which closes when it is gone.
  void try_parent_exit(ProbeResults& results) const {
    std::array<int, 2> ends = {-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const pid_t other = ::fork();
    if (other < 0) return;
    if (other == 0) {
      (void)execute_here(tools_for("wait"), writer.get());
      ::_exit(1);
    }
    writer.reset();
    const bool started = wait_for(reader.get()) == 1;  // it says a word when it runs
    ::kill(other, SIGKILL);
    while (::waitpid(other, nullptr, 0) < 0 && errno == EINTR) {
    }
    const bool held = started && wait_for(reader.get()) == 0;
    results["kill-on-parent-exit"] = {
        .held = held,
        .detail = !started ? "the command did not start"
                  : held   ? "the command ended when its hermetic was killed"
                           : "the command outlived its hermetic"};
  }

  // Reads a byte: 1, or 0 at the end of the pipe; -1 if nothing comes in ten seconds.
  static ssize_t wait_for(int descriptor) {
    pollfd watched = {.fd = descriptor, .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&watched, 1, 10'000) > 0 ? ::read(descriptor, &byte, 1) : -1;
  }

  Backend& backend_;
  std::string program_;
  std::string directory_;
};

bool write_file(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// In namespaces of its own: 0 if a file system below a tree became read only with it, 1 if not, 2
// if it could not be tried.
int recursive_read_only() {
  const linux_backend::MountAttributes attributes = {.set = linux_backend::kMountReadOnly};
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  const std::string user = fmt::format("0 {} 1", ::geteuid());
  const std::string group = fmt::format("0 {} 1", ::getegid());
  const bool ready =
      ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/uid_map", user) &&
      write_file("/proc/self/gid_map", group) &&
      ::mount("tmpfs", "/tmp", "tmpfs", 0, nullptr) == 0 && ::mkdir("/tmp/below", 0700) == 0 &&
      ::mount("tmpfs", "/tmp/below", "tmpfs", 0, nullptr) == 0;
  if (!ready || ::syscall(linux_backend::kSysMountSetattr, AT_FDCWD, "/tmp", kRecursive,
                          &attributes, sizeof attributes) != 0)
    return 2;
  return ::mkdir("/tmp/below/x", 0700) != 0 && errno == EROFS ? 0 : 1;
}

}  // namespace

std::string try_recursive_read_only() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(recursive_read_only());
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 1) return "could not be tried";
  return WEXITSTATUS(status) == 0 ? "holds (tried)" : "DOES NOT HOLD (tried)";
}

Result<std::map<std::string, ProbeResult>> try_clauses(Backend& backend) {
  TrialDirectory trial;
  std::string directory = TRY(trial.make());
  std::string program = TRY(own_program());
  TRY(prepare_probes(directory));
  return Trials(backend, std::move(program), std::move(directory)).run();
}

}  // namespace hermetic::cli
