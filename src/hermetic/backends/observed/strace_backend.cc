#include "hermetic/backends/observed/strace_backend.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "hermetic/backends/observed/observed_run.h"
#include "hermetic/backends/observed/trace_story.h"

namespace hermetic {
namespace observed {
namespace {

constexpr const char* kCalls =
    "trace=socket,connect,bind,listen,sendto,sendmsg,sendmmsg,io_uring_setup,execve,execveat,"
    "chdir,fchdir,clone,clone3,?fork,?vfork";

// A folder for nobody else with a pipe that has a name; gone as soon as both ends are open.
class NamedPipe {
 public:
  NamedPipe() = default;
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  ~NamedPipe() { remove(); }

  Result<void> make() {
    const char* temp = std::getenv("TMPDIR");
    std::string name =
        fmt::format("{}/hermetic-trace-XXXXXX", temp != nullptr && *temp == '/' ? temp : "/tmp");
    if (::mkdtemp(name.data()) == nullptr)
      return system_error("cannot make a folder for the trace", errno,
                          "set TMPDIR to a place "
                          "that can be written");
    folder_ = name;
    if (::mkfifo(path().c_str(), S_IRUSR | S_IWUSR) != 0)
      return system_error("cannot make a pipe for the trace", errno);
    end_ = UniqueFd(::open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!end_.is_open()) return system_error("cannot open the pipe of the trace", errno);
    return {};
  }
  [[nodiscard]] std::string path() const { return folder_ + "/trace"; }
  [[nodiscard]] int get() const { return end_.get(); }
  void remove() {
    if (folder_.empty()) return;
    (void)::unlink(path().c_str());
    (void)::rmdir(folder_.c_str());
    folder_.clear();
  }

 private:
  std::string folder_;
  UniqueFd end_;
};

class StraceWatcher final : public Watcher {
 public:
  StraceWatcher(std::string strace, const Plan& plan)
      : strace_(std::move(strace)), story_(plan.network_rule, plan.directory) {}

  Result<void> open() { return pipe_.make(); }

  std::vector<std::string> wrapped(const Plan& plan, const std::string& /*program*/) override {
    // Not "signal=none": that would hide how a process ended, too.
    std::vector<std::string> words = {strace_, "-f", "--seccomp-bpf", "-q", "-yy",        "-e",
                                      kCalls,  "-s", "256",           "-o", pipe_.path(), "--"};
    words.insert(words.end(), plan.command.begin(), plan.command.end());
    return words;
  }
  void started(pid_t process) override { tracer_ = process; }
  [[nodiscard]] int descriptor() const override { return over_ ? -1 : pipe_.get(); }

  void read(std::chrono::nanoseconds since_start) override {
    std::array<char, 65536> block;
    for (;;) {
      const ssize_t size = ::read(pipe_.get(), block.data(), block.size());
      if (size <= 0) {
        over_ = size == 0 && heard_;
        return;
      }
      if (!heard_) pipe_.remove();
      heard_ = true;
      for (const char c : std::string_view(block.data(), static_cast<std::size_t>(size))) {
        // Of texts strace shows 256 bytes, so no line of its own is so long.
        constexpr std::size_t kLongest = std::size_t{1} << 20U;
        if (c != '\n' && line_.size() < kLongest) line_ += c;
        if (c != '\n') continue;
        story_.add(line_, since_start);
        line_.clear();
      }
    }
  }
  void look(EventSink& /*events*/, std::chrono::nanoseconds /*since_start*/) override {}
  [[nodiscard]] bool command_ended() override { return story_.command_ended(); }
  [[nodiscard]] pid_t command() const override { return story_.command(); }
  [[nodiscard]] std::vector<ProcessStatus> processes() override { return traced_by(tracer_); }

  // A command may end strace, being of the same user. What it does then is not seen, but the
  // filter that strace had installed lets none of these calls through.
  [[nodiscard]] Result<void> finish(EventSink& events) override {
    for (const Event& event : story_.finish()) events.on_event(event);
    if (!story_.command_started()) return unsupported("strace did not start the command");
    if (!story_.command_ended())
      return unsupported("strace ended before the command did: what it did is not known");
    return {};
  }

 private:
  std::string strace_;
  TraceStory story_;
  NamedPipe pipe_;
  std::string line_;
  pid_t tracer_ = 0;
  bool heard_ = false;
  bool over_ = false;
};

// Does it trace a program that does nothing?
Result<void> try_it(const std::string& strace) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  posix_spawn_file_actions_t actions = {};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  std::vector<std::string> words = {strace, "-f", "--seccomp-bpf", "-q", "-yy",      "-e",
                                    kCalls, "-o", "/dev/null",     "--", "/bin/true"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::array<char*, 1> nothing = {nullptr};
  pid_t process = 0;
  const int problem =
      ::posix_spawn(&process, strace.c_str(), &actions, nullptr, arguments.data(), nothing.data());
  ::posix_spawn_file_actions_destroy(&actions);
  writing.reset();
  if (problem != 0) return system_error(fmt::format("cannot start '{}'", strace), problem);
  std::string said(512, '\0');
  const ssize_t size = ::read(reading.get(), said.data(), said.size());
  said.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && said.empty()) return {};
  return unsupported(fmt::format("strace cannot trace here: {}",
                                 said.empty() ? "it failed" : said.substr(0, said.find('\n'))),
                     "allow ptrace (in a container: --cap-add SYS_PTRACE), with strace 5.3 or "
                     "newer");
}

}  // namespace
}  // namespace observed

Result<StraceBackend> StraceBackend::make() {
  const char* path = std::getenv("PATH");
  const std::string program = observed::find_program(
      "strace", fmt::format("/usr/bin:/bin:/usr/local/bin:{}", path == nullptr ? "" : path), "/");
  if (program.empty()) return unsupported("there is no strace here", "install it");
  TRY(observed::try_it(program));
  return StraceBackend(program);
}

Capabilities StraceBackend::probe() const {
  Capabilities capabilities{.backend = "strace"};
  for (const Clause clause : all_clauses())
    capabilities.clauses[clause] = {.strength = Strength::Absent,
                                    .mechanism = "",
                                    .reason = "strace only watches",
                                    .remedy = "use the guard"};
  capabilities.clauses[Clause::NetworkWatched] = {.strength = Strength::Observed,
                                                  .mechanism = "strace",
                                                  .reason = "strace only watches",
                                                  .remedy = "use the guard"};
  return capabilities;
}

Result<std::unique_ptr<Run>> StraceBackend::start(const Plan& plan, const RunOptions& options,
                                                  EventSink& events) {
  auto watcher = std::make_unique<observed::StraceWatcher>(program_, plan);
  TRY(watcher->open());
  return observed::start_observed(std::move(watcher), plan, options, events);
}

}  // namespace hermetic
